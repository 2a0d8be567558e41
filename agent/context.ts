import type { ImagePolicy } from '#agent/image-means/image-policy.ts';
import type { Share } from '#agent/image-means/image-share.ts';
import type { WrittenImageRecord } from '#agent/image-means/written-image.ts';
import type { Clock } from '#shared/clock.ts';
import type { Log } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';
import type { StepDefinition } from '#shared/steps/define-step.ts';
import type { Progress } from '#shared/wire/progress.ts';

/** Means that an in-band step may use: nothing else reaches the machine, so that a test can stand in for any of it. */
export interface AgentContext {
  readonly run: Run;
  readonly clock: Clock;
  readonly log: Log;
  /** Aborts when the agent stops. */
  readonly signal: AbortSignal;
  /** The node as the conductor sent it with the command (secrets masked). */
  readonly node: CommandNode;
  /** The node's ports as the conductor sent them with the command. */
  readonly ports?: readonly Readonly<Record<string, unknown>>[];
  /** Reports the step's progress to the conductor; cheap to call often, never throws. */
  readonly reportProgress: (progress: Progress) => void;
  /** Policy of the conductor for images; nothing said: all is allowed. */
  readonly imagePolicy?: ImagePolicy;
  /** Shares an image in chunks with the machines that deploy it too; absent where the conductor does not want that. */
  readonly shareImage?: ((image: string) => Share) | undefined;
  /** Record of what the write step did in this boot. */
  readonly writtenImage: WrittenImageRecord;
}

/** The parts of the `node` parameter that steps read. */
export interface CommandNode {
  readonly uuid: string;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly instance_info: Readonly<Record<string, unknown>>;
  readonly driver_internal_info: Readonly<Record<string, unknown>>;
  /** Volumes that were made, and those that are wanted; absent from a lookup's answer. */
  readonly raid_config?: unknown;
  readonly target_raid_config?: unknown;
  /** From Baton's conductor only keys that begin with `agent_`; a lookup has none. */
  readonly driver_info?: Readonly<Record<string, unknown>>;
}

/** A step that the agent runs. */
export type AgentStep = StepDefinition<AgentContext>;
