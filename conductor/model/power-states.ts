/** Power vocabulary of Ironic's API (ironic-api.md §3.7). */

export type PowerState = 'power on' | 'power off';

export const powerTargets = ['power on', 'power off', 'rebooting', 'soft rebooting', 'soft power off'] as const;
export type PowerTarget = (typeof powerTargets)[number];

/** The state that a power action ends in. */
export function powerStateAfter(target: PowerTarget): PowerState {
  return target === 'power off' || target === 'soft power off' ? 'power off' : 'power on';
}
