import { z } from 'zod';

/** Steps on the wire (agent-protocol.md §4.2, §5). */

export const stepInterfaces = ['vendor', 'power', 'management', 'firmware', 'deploy', 'bios', 'raid'] as const;
export type StepInterface = (typeof stepInterfaces)[number];

/** The kinds of flow that agents' steps belong to. */
export const stepKinds = ['deploy', 'clean', 'service'] as const;
export type StepKind = (typeof stepKinds)[number];

/** Disks whose contents a step ends, at most: none, the root disk (and what it is made of), all but the skip list. */
export const diskLosses = ['none', 'root disk', 'all'] as const;
export type DiskLoss = (typeof diskLosses)[number];

export const ArgsInfo = z.record(
  z.string(),
  z.object({ description: z.string().nullish(), required: z.boolean().nullish() }).loose(),
);
export type ArgsInfo = z.infer<typeof ArgsInfo>;

/**
 * A rule for one argument's value: what can be said of it before a machine boots. Baton's agent only; Ironic ignores
 * it.
 */
export const ArgRule = z.object({
  /** JSON Schema's: any of them. */
  types: z.array(z.enum(['string', 'integer', 'number', 'boolean', 'array', 'object', 'null'])).min(1),
  /** The texts that there are. */
  enum: z.array(z.string()).optional(),
  /** Pattern of a text, in JavaScript's Unicode mode. */
  pattern: z.string().optional(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
});
export type ArgRule = z.infer<typeof ArgRule>;
export const ArgRules = z.record(z.string(), ArgRule);
export type ArgRules = z.infer<typeof ArgRules>;

/** The longest time that a step may keep a machine on whose agent is gone: a week. */
export const longestHoldSeconds = 7 * 86_400;

/** A step as the agent advertises it in `get_deploy_steps` and its siblings. */
export const AdvertisedStep = z.looseObject({
  interface: z.string(),
  step: z.string(),
  priority: z.int32(),
  reboot_requested: z.boolean().default(false),
  abortable: z.boolean().optional(),
  argsinfo: ArgsInfo.nullish(),
  /** Baton's agent only. What this release does not know is as good as nothing said. */
  baton_destroys: z.enum(diskLosses).optional().catch(undefined),
  /** The same. By argument, beside `argsinfo`. */
  baton_args: ArgRules.optional().catch(undefined),
  /** The same. `StepDefinition.mustNotLosePower` */
  baton_must_not_lose_power: z.number().int().min(0).max(longestHoldSeconds).optional().catch(undefined),
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

/** The agent's step that runs a plugin's shell task (`conductor/sites/plugins`). */
export const pluginTaskStep = { interface: 'deploy', step: 'run_plugin_task' } as const;

/** All of a plugin's files together, before base64: scripts. What is larger belongs on an HTTP server. */
export const maxPluginBytes = 1024 * 1024;

/** Its arguments. The conductor adds files and the node's name when it sends the step: they are in no plan. */
export const PluginTaskArgs = z.strictObject({
  plugin: z.string().min(1).describe("the plugin's name"),
  version: z.string().min(1).describe("the plugin's version"),
  task: z.int().min(1).describe("the task's place in the plugin's tasks.yaml"),
  stage: z
    .string()
    .regex(/^(pre|post)_deployment(\/.*)?$/)
    .describe('pre_deployment: in the ramdisk; post_deployment: in the deployed system; as tasks.yaml has it'),
  cmd: z.string().min(1).describe('given to /bin/sh -c'),
  timeout: z.number().positive().max(86_400).describe('seconds'),
  cwd: z.string().optional().describe("folder, from that of the plugin's files, which is the default"),
  env: z.record(z.string(), z.string()).optional().describe('environment variables; no secrets'),
  node_name: z.string().optional().describe("the node's name, for $BATON_NODE_NAME"),
  plugin_files: z
    .record(z.string(), z.strictObject({ content: z.string(), executable: z.boolean() }))
    .optional()
    .describe("the plugin's files by path, in base64"),
});
export type PluginTaskArgs = z.infer<typeof PluginTaskArgs>;

/** Recognizes a path such as `deploy.sh` or `lib/common.sh`: below the plugin's folder, and written in one way only. */
export function isPluginPath(path: string): boolean {
  const parts = path.split('/');
  return (
    path.length <= 255 && !/[\\\0]/.test(path) && parts.every((part) => part !== '' && part !== '.' && part !== '..')
  );
}
