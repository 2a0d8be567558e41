import { z } from 'zod';
import { AgentFault } from '#agent/commands/agent-fault.ts';
import type { AgentContext, CommandNode } from '#agent/context.ts';
import type { ActiveHardware } from '#agent/hardware/active-hardware.ts';
import type { Inventory } from '#agent/hardware/inventory.ts';
import type { ImagePolicy } from '#agent/image-means/image-policy.ts';
import type { WrittenImageRecord } from '#agent/image-means/written-image.ts';
import type { Say } from '#agent/say.ts';
import type { Clock } from '#shared/clock.ts';
import { describeIssues } from '#shared/errors/describe-issues.ts';
import type { Log } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';
import type { TpmQuote } from '#shared/wire/attestation.ts';
import type { HeardLldp } from '#shared/wire/inventory.ts';

/** Services that commands may use. */
export interface CommandServices {
  readonly run: Run;
  readonly clock: Clock;
  readonly log: Log;
  readonly say: Say;
  /** Aborts when the agent stops. */
  readonly signal: AbortSignal;
  readonly hardware: ActiveHardware;
  /** Hardware managers that could not be loaded. */
  readonly hardwareProblems?: readonly string[];
  /** MAC address of the NIC that the machine booted from. */
  readonly bootMac: string | undefined;
  /** The node as the last lookup reported it, for commands that come without one. */
  readonly node: () => CommandNode;
  /** Gives what the last lookup allows of images; nothing said: all. */
  readonly imagePolicy?: () => ImagePolicy;
  /** `undefined` where images are not shared with neighbours. */
  readonly shareImage?: () => AgentContext['shareImage'];
  readonly reportProgress: (commandId: string) => AgentContext['reportProgress'];
  /** The image that a step wrote: `standby.get_partition_uuids` and `image.install_bootloader` ask for it. */
  readonly writtenImage: WrittenImageRecord;
  /** Reads what the machine is made of, with what its switches say where the agent listens for it. */
  readonly inventory: () => Promise<Inventory>;
  /**
   * Resolves with what switches have said so far, to cards by their MAC; the first call has the agent listen in the
   * background.
   */
  readonly heardLldp: () => Promise<HeardLldp>;
  /** Has the machine's TPM sign its PCRs with 32 bytes; `undefined` where the agent has no way to one. */
  readonly quote?: (nonce: Buffer) => Promise<TpmQuote>;
  /** The agent's latest log lines. */
  readonly recentLog: () => string;
  /** Stops serving and takes the network down, after the answer to this command is sent. */
  readonly lockdown: () => void;
  /** Stops serving, and lets the process end, after the answer to this command is sent. */
  readonly standAside: () => void;
}

/**
 * A command of agent-protocol.md §4.1. `sync` ones are answered when they have ended; `async` ones at once, and
 * one at a time.
 */
export interface CommandDefinition<Params = unknown> {
  readonly kind: 'sync' | 'async';
  readonly params: z.ZodType<Params>;
  /** Disturbs nothing, and is wanted most while something hangs: run beside an asynchronous command. */
  readonly whileBusy?: boolean;
  /** Describes the command for the console, where its name doesn't say enough. */
  label?(params: Params): string;
  /**
   * Runs the command: the value that it returns is the `command_result`; the error that it throws becomes the
   * `command_error`.
   */
  run(services: CommandServices, params: Params, commandId: string): Promise<unknown>;
}

export function defineCommand<Params>(definition: CommandDefinition<Params>): CommandDefinition<Params> {
  return definition;
}

const record = z.record(z.string(), z.unknown());

/** The `node` parameter: a whole node dump, of which the agent reads some. */
export const nodeParam = z
  .looseObject({
    uuid: z.string(),
    properties: record.nullish(),
    instance_info: record.nullish(),
    driver_internal_info: record.nullish(),
    driver_info: record.nullish(),
  })
  .nullish();
export const portsParam = z.array(record).nullish();

/** The node a command is about: its own `node` parameter, else the one looked up. */
export function commandNode(services: CommandServices, node: z.infer<typeof nodeParam>): CommandNode {
  if (!node) return services.node();
  return {
    ...node,
    properties: node.properties ?? {},
    instance_info: node.instance_info ?? {},
    driver_internal_info: node.driver_internal_info ?? {},
    driver_info: node.driver_info ?? {},
  };
}

/** @throws AgentFault `InvalidCommandParamsError` naming the parameters */
export function parseParams<Params>(schema: z.ZodType<Params>, params: unknown): Params {
  const parsed = schema.safeParse(params);
  if (parsed.success) return parsed.data;
  throw new AgentFault('InvalidCommandParamsError', describeIssues(parsed.error, 'params'));
}
