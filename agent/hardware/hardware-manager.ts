import type { AgentStep } from '#agent/context.ts';

/** How well a hardware manager knows this machine; the best one's step wins (agent-protocol.md §4.2). */
export const hardwareSupport = { none: 0, generic: 1, mainline: 2, serviceProvider: 3 } as const;
export type HardwareSupport = (typeof hardwareSupport)[keyof typeof hardwareSupport];

export interface HardwareManager {
  /** Keys the step lists on the wire: `GenericHardwareManager`. */
  readonly className: string;
  /** Keys the versions on the wire: `generic_hardware_manager`. */
  readonly name: string;
  /** To be raised whenever the steps change in a way that a flow under way must not mix. */
  readonly version: string;
  /** Whether this is its hardware; asked once, at start. */
  evaluateSupport(): Promise<HardwareSupport>;
  readonly steps: readonly AgentStep[];
}
