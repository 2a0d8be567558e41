import type { Disk } from '#shared/disks/disk.ts';
import { canonicalWwn, isPlaceholder, isPlaceholderWwn } from '#shared/disks/placeholders.ts';

/** Whether two devices are one disk by two paths; nothing joins paths in the ramdisk. */

/**
 * Judges by what was read: one WWN in common, or else serial number, model and size; what contradicts it goes before, for
 * WWNs are copied too. Pure.
 */
function isSameDisk(one: Disk, other: Disk): boolean {
  if (saysOtherwise(serialsOf(one), serialsOf(other)) || differInKind(one, other)) return false;
  const [ours, theirs] = [wwnOf(one), wwnOf(other)];
  if (ours === undefined || theirs === undefined) return shareSerial(one, other);
  return ours === theirs || isWithout(one, other);
}

/** The same, and `unknown` where an identity could not be read and model and size don't tell the two apart. */
export function compareDisks(one: Disk, other: Disk): 'same' | 'other' | 'unknown' {
  if (isSameDisk(one, other)) return 'same';
  const isRead = one.unread === undefined && other.unread === undefined;
  return isRead || differInKind(one, other) ? 'other' : 'unknown';
}

/**
 * Returns a disk's WWN with its extension, without which the volumes of a disk array have one WWN; `undefined` for a disk
 * that reports none.
 */
export function wwnOf(disk: Disk): string | undefined {
  const wwn = disk.wwnWithExtension ?? disk.wwn;
  return wwn === null || isPlaceholderWwn(wwn) ? undefined : canonicalWwn(wwn);
}

/**
 * Returns a key of the serial number; `undefined` where it says too little: the slots of a card reader have the reader's.
 */
export function serialKey({ serial, model, sizeBytes, tran }: Disk): string | undefined {
  const saysTooLittle = serial === null || isPlaceholder(serial) || tran === 'usb';
  return saysTooLittle ? undefined : JSON.stringify([serial, model, sizeBytes]);
}

function shareSerial(one: Disk, other: Disk): boolean {
  if (one.tran === 'usb' || other.tran === 'usb') return false;
  const isAlike = one.model === other.model && one.sizeBytes === other.sizeBytes;
  return isAlike && serialsOf(one).some((serial) => serialsOf(other).includes(serial));
}

/** One path shows the WWN with its extension, the other without. */
function isWithout(one: Disk, other: Disk): boolean {
  const plain = (disk: Disk): boolean => disk.wwn !== null && wwnOf(disk) === canonicalWwn(disk.wwn);
  const base = (disk: Disk): string | undefined => (disk.wwn === null ? undefined : canonicalWwn(disk.wwn));
  return plain(one) !== plain(other) && base(one) === base(other);
}

function serialsOf({ serial, serials }: Disk): readonly string[] {
  return [...(serial === null ? [] : [serial]), ...serials].filter((each) => !isPlaceholder(each));
}

function saysOtherwise(ours: readonly string[], theirs: readonly string[]): boolean {
  return ours.length > 0 && theirs.length > 0 && !ours.some((serial) => theirs.includes(serial));
}

function differInKind(one: Disk, other: Disk): boolean {
  const differ = <T>(a: T | null, b: T | null): boolean => a !== null && b !== null && a !== b;
  return differ(one.model, other.model) || differ(one.sizeBytes || null, other.sizeBytes || null);
}
