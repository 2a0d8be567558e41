import type { PluginTaskRef } from '#conductor/model/planned-step.ts';

/** `GET /v1/nodes/{node}/flow`: the flow under way, or the last one, as operators watch it. Times are ISO 8601. */
export interface FlowView {
  readonly uuid: string;
  readonly kind: string;
  readonly state: string;
  readonly started_at: string;
  readonly ended_at: string | null;
  readonly error: string | null;
  /** Why nobody works on it: `node is in maintenance`. */
  readonly held: string | null;
  /** What it rests for until `unhold`. */
  readonly on_hold: string | null;
  /** Who has said stop, while a step runs that must end first. */
  readonly abort_requested: string | null;
  /** How often cleaning has begun anew because the ramdisk had become another. */
  readonly restarts: number;
  /** What to do next, for a flow that has failed, rests, or waits for too long. */
  readonly advice: string | null;
  readonly steps: readonly FlowStepView[];
}

export interface FlowStepView {
  readonly uuid: string;
  readonly position: number;
  readonly phase: string;
  readonly interface: string;
  readonly step: string;
  readonly priority: number;
  readonly origin: string;
  /** The plugin's task that it is; null = none. */
  readonly plugin: PluginTaskRef | null;
  /** Why it stands there: `template CUSTOM_RAID1 gives it priority 90`. */
  readonly reason: string;
  readonly in_band: boolean;
  readonly state: string;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  /** Why it waits, and when it gives up. */
  readonly waiting_for: string | null;
  readonly wait_until: string | null;
  readonly progress: unknown;
  readonly error: string | null;
}
