import type { RestingArray } from '#shared/disks/disk.ts';
import type { HintTest } from '#shared/disks/root-device-hints.ts';

/** RAID arrays in the skip list: while none is assembled, only the superblocks of their members tell of them. Pure. */

/** Hints by which an array can be named; others are too common to all disks. */
const namingHints: ReadonlySet<string> = new Set(['name', 'wwn', 'wwn_with_extension']);
/** Hints that an array answers only once it is assembled. */
const laterHints: ReadonlySet<string> = new Set(['size', 'rotational']);

/** The kernel's number for an array, which it gets as it is assembled: `/dev/md127`. */
const arrayNumber = /\/dev\/md_?d?\d+/i;

/** A text with an operator, of which an array's name may have a part. */
const operator = /^\s*(<|s[=<>])/i;

/** Returns whether hints may name an array: by a name with `md`, or a WWN in groups of digits. */
export function mayNameArray(tests: readonly HintTest[]): boolean {
  return tests.some(({ field, wanted, isNegated }) => {
    if (!namingHints.has(field) || isNegated) return false;
    return operator.test(wanted) || (field === 'name' ? /md/i : /:|-.*-|^[0-9a-f]{32}$/i).test(wanted.trim());
  });
}

/**
 * Returns whether hints that protect an array name this one. `undefined` = they may: what could tell is known only of an
 * array that is assembled, or was not read.
 */
export function protectsArray(array: RestingArray, tests: readonly HintTest[]): boolean | undefined {
  if (!mayNameArray(tests)) return false;
  const values = (field: string): readonly string[] => (field === 'name' ? array.names : array.uuids);
  const missed = tests.filter(({ field, matches }) => !(namingHints.has(field) && values(field).some(matches)));
  if (missed.length === 0) return true;
  return missed.every((test) => isUnknown(array, test)) ? undefined : false;
}

function isUnknown({ unread }: RestingArray, { field, wanted }: HintTest): boolean {
  if (laterHints.has(field) || (field === 'name' && arrayNumber.test(wanted))) return true;
  return unread !== undefined && namingHints.has(field);
}
