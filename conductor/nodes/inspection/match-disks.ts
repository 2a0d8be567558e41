import { canonicalWwn, isPlaceholder, isPlaceholderWwn } from '#shared/disks/placeholders.ts';

/** By what a disk is known again; `null` where the hardware is silent. */
export interface DiskMarks {
  readonly device: string;
  readonly serial: string | null;
  readonly wwn: string | null;
  readonly model: string | null;
  /** All of them, where the agent reports these. */
  readonly serials?: readonly string[] | undefined;
  readonly wwns?: readonly string[] | undefined;
  /** Not reported by erase steps. */
  readonly sizeBytes?: number | null;
}

/**
 * Returns which of the disks that are known were met: pure, one to one, for namespaces and LUNs share serial numbers. All
 * that both sides report must agree. The kernel names disks as it likes: names decide between disks that are alike, and
 * alone only where neither serial number nor WWN is reported.
 */
export function matchDisks<K extends DiskMarks, M extends DiskMarks>(
  known: readonly K[],
  met: readonly M[],
): { readonly pairs: ReadonlyMap<M, K>; readonly unmet: readonly K[] } {
  const pairs = new Map<M, K>();
  const open = new Set(known);
  // the surest first: what identifies less takes what is left
  for (const least of [5, 4, 3, 2, 1]) {
    for (const one of open) {
      const other = met.find((each) => !pairs.has(each) && likeness(one, each) >= least);
      if (!other) continue;
      pairs.set(other, one);
      open.delete(one);
    }
  }
  return { pairs, unmet: [...open] };
}

/** Rates the likeness of two disks: 0 = another disk; each identifier that agrees counts 2, the name 1. */
function likeness(one: DiskMarks, other: DiskMarks): number {
  const identifiers = [share(serialsOf(one), serialsOf(other)), shareWwns(wwnsOf(one), wwnsOf(other))];
  if (identifiers.includes(false)) return 0;
  const sameName = one.device === other.device;
  const agreeing = identifiers.filter(Boolean).length;
  if (agreeing > 0) return agreeing * 2 + (sameName ? 1 : 0);
  if (isNamed(one) || isNamed(other)) return 0;
  const alike = [agree(one.model, other.model), agree(one.sizeBytes ?? null, other.sizeBytes ?? null)];
  return sameName && !alike.includes(false) ? 1 : 0;
}

function isNamed(disk: DiskMarks): boolean {
  return serialsOf(disk).length + wwnsOf(disk).length > 0;
}

/** An older agent's inventory has one, which may be another than the one that is shown now. */
function serialsOf({ serial, serials = [] }: DiskMarks): readonly string[] {
  return [...(serial === null ? [] : [serial]), ...serials].filter((each) => !isPlaceholder(each));
}

function wwnsOf({ wwn, wwns = [] }: DiskMarks): readonly string[] {
  return [...(wwn === null ? [] : [wwn]), ...wwns].filter((each) => !isPlaceholderWwn(each)).map(canonicalWwn);
}

/** Checks whether two lists share a value; `undefined` = one of them is empty. */
function share(one: readonly string[], other: readonly string[]): boolean | undefined {
  return one.length === 0 || other.length === 0 ? undefined : one.some((each) => other.includes(each));
}

/** Volumes of a disk array have one WWN, and each its own extension of it. */
function shareWwns(one: readonly string[], other: readonly string[]): boolean | undefined {
  const extended = (wwns: readonly string[]) =>
    wwns.filter((wwn) => wwns.some((base) => base !== wwn && wwn.startsWith(base)));
  return share(one, other) === true && share(extended(one), extended(other)) === false ? false : share(one, other);
}

/** Checks whether two values agree; `undefined` = one of them is not known. */
function agree<T>(one: T | null, other: T | null): boolean | undefined {
  return one === null || other === null ? undefined : one === other;
}
