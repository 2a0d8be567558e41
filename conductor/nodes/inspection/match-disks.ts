/** By what a disk is known again; `null` where the hardware is silent. */
export interface DiskMarks {
  readonly device: string;
  readonly serial: string | null;
  readonly wwn: string | null;
  readonly model: string | null;
  /** Not reported by erase steps. */
  readonly sizeBytes?: number | null;
}

/**
 * Which of the disks that are known were met: pure, one to one, for namespaces and LUNs share serial numbers. All that
 * both sides report must agree. The kernel names disks as it likes: names decide between disks that are alike, and alone
 * only where neither serial number nor WWN is reported.
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

/** 0 = another disk; each identifier that agrees counts 2, the name 1. */
function likeness(one: DiskMarks, other: DiskMarks): number {
  const identifiers = [agree(one.serial, other.serial), agree(one.wwn, other.wwn)];
  if (identifiers.includes(false)) return 0;
  const sameName = one.device === other.device;
  const agreeing = identifiers.filter(Boolean).length;
  if (agreeing > 0) return agreeing * 2 + (sameName ? 1 : 0);
  if (isNamed(one) || isNamed(other)) return 0;
  const alike = [agree(one.model, other.model), agree(one.sizeBytes ?? null, other.sizeBytes ?? null)];
  return sameName && !alike.includes(false) ? 1 : 0;
}

function isNamed({ serial, wwn }: DiskMarks): boolean {
  return serial !== null || wwn !== null;
}

/** `undefined` = one of them is silent. */
function agree<T>(one: T | null, other: T | null): boolean | undefined {
  return one === null || other === null ? undefined : one === other;
}
