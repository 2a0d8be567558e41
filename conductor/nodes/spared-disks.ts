import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { FlowKindName } from '#conductor/model/flow-states.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { isNoDisk, type KnownDisk, type SparedDisk } from '#conductor/model/known-disk.ts';
import { readSkipList } from '#shared/disks/choose-root-device.ts';
import { isVirtualMedium } from '#shared/disks/disk.ts';
import { findOsDisks } from '#shared/disks/find-os-disks.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { type OsDisk, type SkippedDisk, skipReasons } from '#shared/wire/erase-result.ts';

/** What a deploy after this wipe has to leave alone; disks without serial number and WWN can't be told from others. */
export function sparedDisks(skipped: readonly SkippedDisk[]): readonly SparedDisk[] {
  return skipped
    .filter(({ reason, serial, wwn }) => reason === skipReasons.preserved && (serial !== null || wwn !== null))
    .map(({ serial, wwn }) => ({ serial, wwn }));
}

/**
 * Before anything is touched: a disk that can't be put on the skip list would be as free as any to the next deploy.
 * @param disks as a ramdisk has just told them
 * @throws AppError `storage_error` naming it, or because the disk of the operating system is not there
 */
export function requireIdentifiedDisks(disks: readonly KnownDisk[], osDisk: OsDisk, properties: JsonObject): void {
  const isSkipped = readSkipList(properties);
  const own = findOsDisks(
    disks.filter(({ type }) => type === 'disk'),
    osDisk,
  );
  const anonymous = disks.filter(
    (disk) =>
      disk.type === 'disk' &&
      !isNoDisk(disk.name) &&
      !own.includes(disk) &&
      disk.serial === null &&
      disk.wwn === null &&
      disk.sizeBytes > 0 &&
      !isSkipped(disk) &&
      !isVirtualMedium(disk),
  );
  if (anonymous.length === 0) return;
  const named = anonymous.map(({ name, model, sizeBytes }) => `${name} (${model ?? 'no model'}, ${sizeBytes} bytes)`);
  throw new AppError(
    'storage_error',
    `local storage can't be preserved; nothing was touched: ${named.join(', ')} has neither serial number nor WWN by which ` +
      'the next deploy could skip it. Add it to properties.skip_block_devices by {"by_path": …} or ' +
      '{"hctl": …}, or wipe without preserving local storage',
  );
}

/**
 * The node's properties with what a wipe has preserved on the skip list (agent-protocol.md §6.6): without it cleaning
 * would erase such a disk, and the next deploy could take it for the root device or for an array, when names or sizes are
 * alike. Pure.
 */
export function sparing(properties: JsonObject, { sparedDisks: spared }: Pick<NodeRow, 'sparedDisks'>): JsonObject {
  const listed = properties['skip_block_devices'] ?? [];
  // one that can't be understood stops every step that goes by it
  if (spared === null || spared.length === 0 || !Array.isArray(listed)) return properties;
  return { ...properties, skip_block_devices: [...(listed as readonly unknown[]), ...spared.map(asHints)] };
}

/** What the agent is to go by in a flow of this kind: a wipe says itself what is erased, and nothing else may. */
export function propertiesIn(
  kind: FlowKindName | undefined,
  { properties, sparedDisks: spared }: Pick<NodeRow, 'properties' | 'sparedDisks'>,
): JsonObject {
  return kind === 'wipe' ? properties : sparing(properties, { sparedDisks: spared });
}

function asHints({ serial, wwn }: SparedDisk): JsonObject {
  return {
    ...(serial === null ? {} : { serial: `s== ${serial}` }),
    ...(wwn === null ? {} : { wwn: `s== ${wwn}` }),
  };
}
