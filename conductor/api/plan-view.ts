import type { PluginTaskRef } from '#conductor/model/planned-step.ts';

/** `POST /v1/nodes/{node}/plan`: what would happen, and why. */
export interface PlanView {
  readonly node: string;
  readonly kind: string;
  /** A request that carries it is refused when the plan is another by then. */
  readonly hash: string;
  /** The agent's steps are known; else more may come when the ramdisk has booted. */
  readonly complete: boolean;
  readonly boot_mode: string;
  readonly reboots: number;
  /** From the last runs of these steps anywhere, without `hold` and `wait`; null when one has never run. */
  readonly predicted_seconds: number | null;
  readonly destroys: readonly {
    readonly name: string;
    readonly serial: string | null;
    readonly model: string | null;
    readonly size_bytes: number | null;
    readonly contents: readonly string[];
    readonly by: readonly string[];
  }[];
  readonly steps: readonly PlannedStepView[];
  readonly warnings: readonly string[];
}

export interface PlannedStepView {
  readonly position: number;
  readonly interface: string;
  readonly step: string;
  readonly priority: number;
  readonly origin: string;
  readonly in_band: boolean;
  readonly args: unknown;
  readonly reboot_requested: boolean;
  readonly abortable: boolean;
  /** The plugin's task that it is; null = none. */
  readonly plugin: PluginTaskRef | null;
  readonly reason: string;
  readonly predicted_seconds: number | null;
}
