import { z } from 'zod';

/** Steps on the wire (agent-protocol.md §4.2, §5). */

export const stepInterfaces = ['vendor', 'power', 'management', 'firmware', 'deploy', 'bios', 'raid'] as const;
export type StepInterface = (typeof stepInterfaces)[number];

/** The kinds of flow that agents' steps belong to. */
export const stepKinds = ['deploy', 'clean', 'service'] as const;
export type StepKind = (typeof stepKinds)[number];

/** Whose contents a step ends, at most: of no disk, of the root disk (and what it is made of), of all but the skip list. */
export const diskLosses = ['none', 'root disk', 'all'] as const;
export type DiskLoss = (typeof diskLosses)[number];

export const ArgsInfo = z.record(
  z.string(),
  z.object({ description: z.string().nullish(), required: z.boolean().nullish() }).loose(),
);
export type ArgsInfo = z.infer<typeof ArgsInfo>;

/** A step as the agent advertises it in `get_deploy_steps` and its siblings. */
export const AdvertisedStep = z.looseObject({
  interface: z.string(),
  step: z.string(),
  priority: z.number().int(),
  reboot_requested: z.boolean().default(false),
  abortable: z.boolean().optional(),
  argsinfo: ArgsInfo.nullish(),
  /** Baton's agent only. What this release does not know is as good as nothing said. */
  baton_destroys: z.enum(diskLosses).optional().catch(undefined),
});
export type AdvertisedStep = z.infer<typeof AdvertisedStep>;

/** Keyed by hardware manager class name. */
export const AdvertisedSteps = z.record(z.string(), z.array(AdvertisedStep));

/** Versions by the managers' declared names; sent back with each step, so that a changed ramdisk is noticed. */
export const HardwareManagerVersion = z.record(z.string(), z.string());
export type HardwareManagerVersion = z.infer<typeof HardwareManagerVersion>;

/** The `step` parameter of `execute_*_step`, as Baton's conductor sends it. */
export interface StepRequest {
  readonly interface: string;
  readonly step: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly priority: number;
  readonly reboot_requested: boolean;
  readonly abortable: boolean;
  /**
   * The flow step's uuid: Baton's agent uses it as the command's id, and answers a repeated request with the command
   * that it already has. A real ironic-python-agent ignores it; its results carry it back.
   */
  readonly baton_command_id: string;
}
