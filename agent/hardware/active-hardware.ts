import { genericHardwareManager } from '#agent/hardware/generic.ts';
import { type HardwareManager, type HardwareSupport, hardwareSupport } from '#agent/hardware/hardware-manager.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { HardwareManagerVersion } from '#shared/wire/step.ts';

export interface ActiveManager {
  readonly manager: HardwareManager;
  readonly support: HardwareSupport;
}

/** The managers that know this machine, the best first; equals in the order of their class names. */
export type ActiveHardware = readonly ActiveManager[];

/** @throws AppError `not_supported` when no manager knows this machine */
export async function activateHardware(managers: readonly HardwareManager[]): Promise<ActiveHardware> {
  const evaluated = await Promise.all(
    managers.map(async (manager) => ({ manager, support: await manager.evaluateSupport() })),
  );
  const active = evaluated
    .filter(({ support }) => support > hardwareSupport.none)
    .sort((a, b) => b.support - a.support || (a.manager.className < b.manager.className ? -1 : 1));
  if (active.length === 0) throw new AppError('not_supported', 'no hardware manager knows this machine');
  return active;
}

/**
 * Gives the versions that the conductor sends back with each step as `deploy_version`, `clean_version` or
 * `service_version`.
 */
export function hardwareVersions(hardware: ActiveHardware): HardwareManagerVersion {
  return Object.fromEntries(hardware.map(({ manager }) => [manager.name, manager.version]));
}

/** Whether the versions that the conductor planned with are those of this ramdisk; without any there is no check. */
export function versionsMatch(hardware: ActiveHardware, planned: HardwareManagerVersion | null | undefined): boolean {
  if (!planned) return true;
  const current = hardwareVersions(hardware);
  const names = new Set([...Object.keys(current), ...Object.keys(planned)]);
  return [...names].every((name) => current[name] === planned[name]);
}

/** The hardware managers, each of which says at start whether this is its machine. */
export const hardwareManagers: readonly HardwareManager[] = [genericHardwareManager];
