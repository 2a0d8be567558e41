/**
 * LVM2's own notes on a physical volume, read without LVM, which the ramdisk does not have: the label in one of the first
 * four sectors, and the volume group's description in text (lib/format_text/layout.h of LVM 2.03). Nothing is changed.
 */

/** Reads bytes of a device; fewer where it ends. */
export type ReadBytes = (device: string, offset: number, length: number) => Promise<Buffer>;

export interface PhysicalVolume {
  /** 32 characters, without the hyphens that LVM shows. */
  readonly uuid: string;
  /** `undefined` = it carries no description (`pvcreate --pvmetadatacopies 0`), or is in no group. */
  readonly group: VolumeGroup | undefined;
}

export interface VolumeGroup {
  readonly name: string;
  readonly id: string;
  /** UUIDs of its physical volumes. */
  readonly members: readonly string[];
}

interface Area {
  readonly offset: number;
  readonly size: number;
}

const sectorBytes = 512;
const labelSectors = 4;
const areaHeaderBytes = 512;
const areaMagic = '\x20LVM2\x20x[5A%r0N*>';
/** Descriptions of thousands of volumes stay below it. */
const maxTextBytes = 16 * 1024 * 1024;

/**
 * Reads what the physical volume that begins at `offset` says of itself and of its group; `undefined` = there is none.
 * @throws what `read` throws
 */
export async function readPhysicalVolume(
  read: ReadBytes,
  device: string,
  offset: number,
): Promise<PhysicalVolume | undefined> {
  const head = await read(device, offset, labelSectors * sectorBytes);
  const label = parseLabel(head);
  if (!label) return undefined;
  for (const area of label.textAreas) {
    const text = await readText((at, length) => read(device, offset + at, length), area);
    const group = text === undefined ? undefined : parseVolumeGroup(text);
    if (group) return { uuid: label.uuid, group };
  }
  return { uuid: label.uuid, group: undefined };
}

/** The UUID, and where descriptions stand, from the first four sectors. */
function parseLabel(head: Buffer): { readonly uuid: string; readonly textAreas: readonly Area[] } | undefined {
  for (let sector = 0; sector < labelSectors; sector += 1) {
    const at = sector * sectorBytes;
    if (head.toString('latin1', at, at + 8) !== 'LABELONE') continue;
    if (head.toString('latin1', at + 24, at + 32) !== 'LVM2 001') continue;
    const header = at + head.readUInt32LE(at + 20);
    if (header + 40 > head.length) continue;
    const uuid = head.toString('latin1', header, header + 32);
    // the lists of data areas and of text areas, each ended by an empty one
    const data = parseAreas(head, header + 40);
    return { uuid, textAreas: parseAreas(head, data.end).areas };
  }
  return undefined;
}

function parseAreas(bytes: Buffer, from: number): { readonly areas: readonly Area[]; readonly end: number } {
  const areas: Area[] = [];
  let at = from;
  for (; at + 16 <= bytes.length; at += 16) {
    const offset = Number(bytes.readBigUInt64LE(at));
    if (offset === 0) return { areas, end: at + 16 };
    areas.push({ offset, size: Number(bytes.readBigUInt64LE(at + 8)) });
  }
  return { areas, end: at };
}

/** The description that counts: a text in a ring, whose place is in its header. */
async function readText(
  read: (offset: number, length: number) => Promise<Buffer>,
  area: Area,
): Promise<string | undefined> {
  const header = await read(area.offset, areaHeaderBytes);
  if (header.length < areaHeaderBytes || header.toString('latin1', 4, 20) !== areaMagic) return undefined;
  const offset = Number(header.readBigUInt64LE(40));
  const size = Number(header.readBigUInt64LE(48));
  if (offset < areaHeaderBytes || offset >= area.size || size === 0 || size > Math.min(area.size, maxTextBytes)) {
    return undefined;
  }
  const untilEnd = Math.min(size, area.size - offset);
  const first = await read(area.offset + offset, untilEnd);
  const rest = size > untilEnd ? await read(area.offset + areaHeaderBytes, size - untilEnd) : Buffer.alloc(0);
  return Buffer.concat([first, rest]).toString('latin1');
}

/** Name, id and members from a group's description. */
export function parseVolumeGroup(text: string): VolumeGroup | undefined {
  const name = /^\s*([^\s{]+)\s*\{/.exec(text)?.[1];
  const id = /\bid\s*=\s*"([^"]+)"/.exec(text)?.[1];
  const [, members] = /\bphysical_volumes\s*\{([\s\S]*)/.exec(text) ?? [];
  if (name === undefined || id === undefined || members === undefined) return undefined;
  const volumes = [...members.matchAll(/\bpv\d+\s*\{\s*id\s*=\s*"([^"]+)"/g)];
  return { name, id: plain(id), members: volumes.map((found) => plain(found[1] ?? '')) };
}

function plain(uuid: string): string {
  return uuid.replaceAll('-', '');
}
