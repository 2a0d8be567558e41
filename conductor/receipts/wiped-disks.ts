import { z } from 'zod';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { KnownDisk } from '#conductor/model/known-disk.ts';
import { marksOf } from '#conductor/nodes/inspection/inventory-store.ts';
import { type DiskMarks, matchDisks } from '#conductor/nodes/inspection/match-disks.ts';
import { readSkipList } from '#shared/disks/choose-root-device.ts';
import { isVirtualMedium } from '#shared/disks/disk.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { EraseResult, skipReasons } from '#shared/wire/erase-result.ts';

/** A disk that the machine has, or had when it was last inspected. */
export interface InventoriedDisk extends DiskMarks {
  readonly sizeBytes: number | null;
  /** Why a wipe of all disks may leave it alone, or not meet it; `null`: it may not. */
  readonly excuse: string | null;
  /** The entry of the node's skip list that names it. */
  readonly skipListEntry?: JsonObject | undefined;
}

/** @throws AppError for a skip list that can't be understood. */
export function inventoriedDisks(disks: readonly KnownDisk[], properties: JsonObject): readonly InventoriedDisk[] {
  const isSkipped = readSkipList(properties);
  return disks.map((disk) => {
    const { sizeBytes = null, ...marks } = marksOf(disk);
    const excuse = excuseOf(disk, isSkipped);
    return excuse === skipReasons.skipList
      ? { ...marks, sizeBytes, excuse, skipListEntry: entryFor(disk, properties) }
      : { ...marks, sizeBytes, excuse };
  });
}

function entryFor(disk: KnownDisk, properties: JsonObject): JsonObject | undefined {
  const entries = properties['skip_block_devices'] as readonly JsonObject[];
  return entries.find((entry) => readSkipList({ skip_block_devices: [entry] })(disk));
}

function excuseOf(disk: KnownDisk, isSkipped: (disk: KnownDisk) => boolean): string | null {
  if (isSkipped(disk)) return skipReasons.skipList;
  if (isVirtualMedium(disk)) return skipReasons.virtualMedia;
  return disk.removable && disk.contents?.length === 0 ? 'it is removable, and was empty' : null;
}

/**
 * A wipe of all disks has to have met them all.
 * @throws AppError `storage_error` naming those that may hold data, and what can be done.
 */
export function requireAllMet(inventoried: readonly InventoriedDisk[], { erased, skipped }: EraseResult): void {
  const unmet = matchDisks(inventoried, [...erased, ...skipped]).unmet.filter(({ excuse }) => excuse === null);
  if (unmet.length === 0) return;
  throw new AppError(
    'storage_error',
    `the wipe did not find ${unmet.map(nameDisk).join(', ')}, which this machine had: failed or removed, it may hold data. ` +
      'Put it back (or repair it) and wipe again; if it is gone for good, inspect the node without it and wipe again; list disks ' +
      'that must never be wiped in properties.skip_block_devices',
  );
}

/**
 * An agent's word is not enough for leaving a disk alone in a wipe of all.
 * @throws AppError `agent_error` naming the disks for whose reason nothing speaks.
 */
export function requireTrueExcuses(inventoried: readonly InventoriedDisk[], { erased, skipped }: EraseResult): void {
  const { pairs } = matchDisks(inventoried, [...erased, ...skipped]);
  const wrong = skipped.filter(
    (disk) => disk.reason !== skipReasons.preserved && pairs.get(disk)?.excuse !== disk.reason,
  );
  if (wrong.length === 0) return;
  const each = wrong.map((disk) => `${nameDisk(disk)}: ${disk.reason}`);
  throw new AppError(
    'agent_error',
    `the agent has left disks alone for a reason that the conductor does not see (${each.join('; ')}): neither the ` +
      "node's properties.skip_block_devices nor its inventory says so",
  );
}

/** Device and serial, as messages name a disk. */
export function nameDisk({ device, serial }: { readonly device: string; readonly serial: string | null }): string {
  return serial === null ? device : `${device} (serial ${serial})`;
}

/** What `deploy.wipe_disks` has come to: the agent's answer, which proves each disk, and what that agent was. */
export const ProvedWipe = EraseResult.extend({
  /** By its heartbeats, which have ended when the receipt is signed. */
  agent_version: z.string().nullable().default(null),
});
export type ProvedWipe = Readonly<z.infer<typeof ProvedWipe>>;
