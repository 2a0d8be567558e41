/** A switch's bond (port-channel, LAG) that Baton makes of a node's ports while its instance runs. */

export type BondMode = 'lacp' | 'static';

export interface SwitchBond {
  /** Number from the range that the networks file gives the switch. */
  readonly number: number;
  readonly mode: BondMode;
  /** Whether the switch's pair has the other half (MLAG). */
  readonly acrossPair: boolean;
}

/** The bond that a port is found in: `other` is a mode that Baton does not set. */
export type FoundBond = Omit<SwitchBond, 'mode'> & { readonly mode: BondMode | 'other' };

/** A port's bond as it was read; `unknown`: it was not read, or is none that Baton makes. */
export type BondReading = FoundBond | 'none' | 'unknown';

/** Returns whether two bonds are one, or both are none. One that is not known is the same as no other. */
export function sameBond(a: BondReading | null | undefined, b: BondReading | null | undefined): boolean {
  if (a === 'unknown' || b === 'unknown') return false;
  if (!isBond(a) || !isBond(b)) return !isBond(a) && !isBond(b);
  return a.number === b.number && a.mode === b.mode && a.acrossPair === b.acrossPair;
}

/** Recognizes a bond whose number is known. */
export function isBond(bond: BondReading | null | undefined): bond is FoundBond {
  return typeof bond === 'object' && bond !== null;
}

/** Writes `bond 101 (LACP)`, `bond 101 (static, with the pair)` */
export function describeBond({ number, mode, acrossPair }: FoundBond): string {
  const kind = mode === 'lacp' ? 'LACP' : mode;
  return `bond ${number} (${kind}${acrossPair ? ', with the pair' : ''})`;
}

/** By their numbers (Linux, Documentation/networking/bonding.rst). */
const groupModes = ['balance-rr', 'active-backup', 'balance-xor', 'broadcast', '802.3ad', 'balance-tlb', 'balance-alb'];

/** Returns a port group's `mode` by its name, whether it was given by name or number. */
export function groupModeName(mode: string): string {
  return groupModes[Number(mode)] ?? mode;
}

/** Gives the mode that a port group's `mode` needs of the switch; `undefined` = plain ports. */
export function bondModeOf(mode: string): BondMode | undefined {
  const name = groupModeName(mode);
  if (name === '802.3ad') return 'lacp';
  return ['balance-rr', 'balance-xor', 'broadcast'].includes(name) ? 'static' : undefined;
}
