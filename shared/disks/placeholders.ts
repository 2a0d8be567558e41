import { filledIn } from '#shared/machine-identity.ts';

/**
 * Where a maker has put no identifier: texts that stand on a whole batch of disks name none of them. What firmware
 * leaves in words is in `machine-identity.ts`. One row for each kind, with where somebody has met it.
 */
const placeholders: readonly { readonly pattern: RegExp; readonly seen: string }[] = [
  // an NVMe controller without one
  { pattern: /^\(null\)$/i, seen: 'https://github.com/oxidecomputer/propolis/pull/76' },
  // one character over and over
  { pattern: /^([0-9a-z])\1{5,}$/i, seen: 'https://github.com/harvester/harvester/issues/6604' },
  // bridges from USB to SATA count up
  {
    pattern: /^(0?123456789(0|a|ab|abc|abcd|abcde|abcdef|0123|0abcdef)?|1234567890123)$/i,
    seen: 'https://github.com/openmediavault/openmediavault/pull/746',
  },
];

const wwnPlaceholders: readonly { readonly pattern: RegExp; readonly seen: string }[] = [
  { pattern: /^0+$|^0{7,}1$|^f+$/, seen: 'https://github.com/harvester/harvester/issues/6604' },
  // an NAA 5 name without a maker's number: an enclosure for disks has numbered its slots
  { pattern: /^5000000[0-9a-f]{9}$/, seen: 'https://github.com/lxc/incus-os/issues/1145' },
  // an EUI-64 of the maker's number alone: each unit of a UFS chip has it
  { pattern: /^[0-9a-f]{6}0{10}$/, seen: 'https://github.com/opensvc/multipath-tools/issues/142' },
];

/** Returns whether a serial number, asset tag and the like says that there is none: pure. */
export function isPlaceholder(text: string): boolean {
  const trimmed = text.trim();
  return filledIn(trimmed) === null || placeholders.some(({ pattern }) => pattern.test(trimmed));
}

/** The same for a WWN, in whatever spelling: pure. */
export function isPlaceholderWwn(text: string): boolean {
  const made = madeOf(text);
  if (made !== undefined) return isPlaceholder(made);
  const wwn = canonicalWwn(text);
  return isPlaceholder(wwn) || wwnPlaceholders.some(({ pattern }) => pattern.test(wwn));
}

/**
 * Returns a WWN without what only says how it is written: `0x5000C500…`, `naa.5000c500…` and `5000c500…` are one, and so are
 * `uuid.a1b2-…` and `a1b2…`, and `725d4de6:84e9…` of a RAID array and `725d4de6-84e9-…`, as blkid writes it.
 */
export function canonicalWwn(text: string): string {
  const bare = text
    .trim()
    .toLowerCase()
    .replace(/^(0x|naa\.|eui\.|uuid\.)/, '');
  return /^[0-9a-f:-]+$/.test(bare) ? bare.replaceAll(/[:-]/g, '') : bare;
}

/**
 * Returns the serial number in a name that the kernel makes of model and serial number, where a disk has no WWN of its own.
 */
function madeOf(wwn: string): string | undefined {
  const nvme = /^nvme\.[0-9a-f]{4}-((?:[0-9a-f]{2})*)-/i.exec(wwn.trim());
  if (nvme) return Buffer.from(nvme[1] ?? '', 'hex').toString('latin1');
  return /^t10\./i.test(wwn.trim()) ? (wwn.trim().split(/\s+/).slice(1).at(-1) ?? '') : undefined;
}
