/**
 * The target of a boot entry: a file on a partition, or something that is not understood. Firmware, efibootmgr 12 to 18
 * and efivar 36 to 39 each word device paths in their own way, so `unknown` says nothing of whether it is of use.
 */
export type EntryTarget =
  | {
      readonly kind: 'file';
      /** PARTUUID as blkid has it: a GPT's GUID, or `1234abcd-02` of an MBR. Lower case. */
      readonly partition: string;
      /** `\efi\debian\shimx64.efi`, lower case, as FAT doesn't tell cases apart. */
      readonly file: string;
    }
  | { readonly kind: 'unknown' };

const unknown: EntryTarget = { kind: 'unknown' };

/** Local disks alone: what is behind USB, Fibre Channel or a network may be unplugged just now. */
const localNodes = '(?:(?:PciRoot|Pci|Sata|Scsi|NVMe)\\([^()]*\\)/)*';
const partitionNode = 'HD\\((\\d+),(GPT|MBR),([0-9a-fx-]+),0x[0-9a-f]+,0x[0-9a-f]+\\)/';
/**
 * Pattern of a file node; behind `File(…)` comes the entry's own data; behind a bare path, nobody could tell where that
 * begins.
 */
const fileNode = '(?:File\\((\\\\.*?\\.efi)\\)|(\\\\(?:(?!\\.efi).)*\\.efi)$)';
const worded = new RegExp(`^${localNodes}${partitionNode}${fileNode}`, 'i');

/** Reads a device path as efibootmgr words it: `HD(1,GPT,…)/File(\EFI\debian\shimx64.efi)`. Pure. */
export function readWordedPath(text: string): EntryTarget {
  const [, number, scheme = '', signature = '', inside, bare] = worded.exec(text) ?? [];
  const file = inside ?? bare;
  return file === undefined ? unknown : fileOn(partitionId(scheme, signature, Number(number)), file);
}

/**
 * Reads a device path's bytes as `efibootmgr --verbose` prints them since version 18: nodes of hex digits, ` / ` between
 * them (UEFI 2.10 §10.3). Pure.
 */
export function readPathBytes(hex: string): EntryTarget {
  const nodes = hex.split('/').map((node) => Buffer.from(node.replaceAll(/\s/g, ''), 'hex'));
  const isWhole = nodes.every((node) => node.length >= 4 && node.readUInt16LE(2) === node.length);
  const kinds = nodes.map((node) => `${node[0]}.${node[1]}`);
  const at = kinds.indexOf(kind.hardDrive);
  const drive = nodes[at];
  const files = nodes.slice(at + 1, -1);
  const isUnderstood =
    isWhole &&
    drive?.length === 42 &&
    kinds.slice(0, at).every((each) => kind.local.has(each)) &&
    files.length > 0 &&
    kinds.slice(at + 1, -1).every((each) => each === kind.file) &&
    kinds.at(-1) === kind.end;
  if (!isUnderstood) return unknown;
  const names = files.map((node) => node.toString('utf16le', 4).replace(/\0.*$/s, ''));
  return fileOn(driveId(drive), names.join('\\'));
}

/** Type and subtype of a node. */
const kind = {
  /** ACPI, PCI, SCSI, SATA, NVMe. */
  local: new Set(['2.1', '1.1', '3.2', '3.18', '3.23']),
  hardDrive: '4.1',
  file: '4.4',
  end: '127.255',
} as const;

function driveId(node: Buffer): string | undefined {
  const scheme = node[41] === 2 ? 'GPT' : node[41] === 1 ? 'MBR' : '';
  const swapped = [node.readUInt32LE(24), node.readUInt16LE(28), node.readUInt16LE(30)];
  const [first = '', second = '', third = ''] = swapped.map((part, index) =>
    part.toString(16).padStart(index === 0 ? 8 : 4, '0'),
  );
  const guid = [first, second, third, node.toString('hex', 32, 34), node.toString('hex', 34, 40)].join('-');
  return partitionId(scheme, scheme === 'MBR' ? `0x${first}` : guid, node.readUInt32LE(4));
}

/** `undefined` for identifiers that are none: all zeros, or of another shape. */
function partitionId(scheme: string, signature: string, number: number): string | undefined {
  const text = signature.toLowerCase();
  if (/^[0x-]*$/.test(text)) return undefined;
  if (scheme.toUpperCase() === 'GPT')
    return /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text) ? text : undefined;
  const [, id] = /^0x([0-9a-f]{1,8})$/.exec(text) ?? [];
  return id && `${id.padStart(8, '0')}-${number.toString(16).padStart(2, '0')}`;
}

function fileOn(partition: string | undefined, file: string): EntryTarget {
  return partition === undefined ? unknown : { kind: 'file', partition, file: toFileKey(file) };
}

/** One name for a file however it is written. Pure. */
export function toFileKey(path: string): string {
  return `\\${path}`.replaceAll('/', '\\').replaceAll(/\\+/g, '\\').toLowerCase();
}
