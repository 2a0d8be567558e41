import { type PlannedStep, stepKey } from '#conductor/flows/planned-step.ts';
import type { KnownDisk } from '#conductor/inspection/inventory-store.ts';

/** A disk whose contents the plan ends, as the inventory knows it. */
export interface DestroyedDisk {
  readonly disk: KnownDisk;
  /** The steps that do it: `deploy.write_image`. */
  readonly by: readonly string[];
}

/** What each step overwrites: the root disk, or any disk that it finds. Steps that are not here are not known to. */
const destroyers: Readonly<Record<string, 'root disk' | 'all disks'>> = {
  'deploy.write_image': 'root disk',
  'deploy.erase_devices': 'all disks',
  'deploy.erase_devices_express': 'all disks',
  'deploy.erase_devices_metadata': 'all disks',
  'deploy.burnin_disk': 'all disks',
  'raid.apply_configuration': 'all disks',
  'raid.create_configuration': 'all disks',
  'raid.delete_configuration': 'all disks',
};

/**
 * Which disks lose their contents (pure). `rootDisk`, the one that the agent would choose now, is `undefined` where
 * nobody can tell; then each disk may be it.
 */
export function planDestroys(
  steps: readonly PlannedStep[],
  machine: {
    readonly disks: readonly KnownDisk[];
    readonly rootDisk: string | undefined;
    /** Names of those on the operator's skip list. */
    readonly skipped: ReadonlySet<string>;
  },
): DestroyedDisk[] {
  return machine.disks
    .filter((disk) => !machine.skipped.has(disk.name))
    .map((disk) => ({
      disk,
      by: steps
        .filter((step) => step.inBand && hits(destroyers[stepKey(step)], disk.name, machine.rootDisk))
        .map(stepKey),
    }))
    .filter(({ by }) => by.length > 0);
}

function hits(reach: 'root disk' | 'all disks' | undefined, disk: string, rootDisk: string | undefined): boolean {
  return reach === 'all disks' || (reach === 'root disk' && (rootDisk === undefined || disk === rootDisk));
}
