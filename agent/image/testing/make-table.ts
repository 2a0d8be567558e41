import { crc32 } from 'node:zlib';
import { z } from 'zod';

/** Disks with the tables that `sfdisk --dump` describes. */

const mib = 1024 * 1024;

export interface TablePartition {
  readonly number: number;
  readonly start: number;
  readonly size: number;
  /** GUID, or hex digits of an MBR's type. */
  readonly type: string;
  readonly name?: string | undefined;
  readonly bootable?: boolean | undefined;
}

export interface TableLayout {
  readonly label: 'gpt' | 'dos';
  readonly sectorBytes: number;
  /** Sectors of the image. */
  readonly sectors: number;
  readonly partitions: readonly TablePartition[];
  /** Slots of a GPT. */
  readonly slots?: number;
  readonly entriesAt?: number;
  /** Entries of its MBR, where that is no plain protective one. */
  readonly mbr?: readonly TablePartition[];
}

const Header = z.object({
  label: z.enum(['gpt', 'dos']),
  'sector-size': z.coerce.number().default(512),
  'table-length': z.coerce.number().default(128),
  'last-lba': z.coerce.number().optional(),
});

/** Reads a dump; the image ends where the GPT's copy does, or with the last partition. */
export function parseDump(dump: string): TableLayout {
  const lines = dump.split('\n').map((line) => line.trim());
  const fields = lines.flatMap((line) => /^([a-z-]+):\s*(\S+)$/.exec(line)?.slice(1, 3) ?? []);
  const header = Header.parse(
    Object.fromEntries(fields.flatMap((key, at) => (at % 2 === 0 ? [[key, fields[at + 1]]] : []))),
  );
  const partitions = lines.flatMap((line) => parsePartition(line) ?? []);
  const ends = Math.max(0, ...partitions.map(({ start, size }) => start + size));
  const sectorBytes = header['sector-size'];
  const slots = header['table-length'];
  const tail = 1 + Math.ceil((slots * 128) / sectorBytes);
  const sectors = header.label === 'gpt' ? (header['last-lba'] ?? ends - 1) + 1 + tail : ends;
  return { label: header.label, sectorBytes, sectors, partitions, slots };
}

function parsePartition(line: string): TablePartition | undefined {
  const [, node, rest = ''] = /^(\S+) : (.*)$/.exec(line) ?? [];
  if (node === undefined) return undefined;
  const value = (key: string): string | undefined => new RegExp(`\\b${key}= *"?([^",]+)`).exec(rest)?.[1]?.trim();
  return {
    number: Number(/(\d+)$/.exec(node)?.[1]),
    start: Number(value('start')),
    size: Number(value('size')),
    type: value('type') ?? '',
    name: value('name'),
    bootable: /\bbootable\b/.test(rest),
  };
}

/** The first MiB of such a disk, or all of a smaller one. */
export function makeHead(layout: TableLayout): Buffer {
  const { sectorBytes, sectors } = layout;
  const head = Buffer.alloc(Math.min(mib, sectors * sectorBytes));
  head.writeUInt16LE(0xaa55, 510);
  if (layout.label === 'dos') {
    writeMbr(head, layout.partitions);
    return head;
  }
  writeMbr(head, layout.mbr ?? [{ number: 1, start: 1, size: Math.min(sectors - 1, 0xffffffff), type: 'ee' }]);
  writeGpt(head, layout);
  return head;
}

function writeMbr(head: Buffer, partitions: readonly TablePartition[]): void {
  for (const { number, start, size, type, bootable } of partitions) {
    if (number > 4) continue; // in an extended one
    const at = 446 + 16 * (number - 1);
    head.writeUInt8(bootable ? 0x80 : 0, at);
    head.writeUInt8(Number.parseInt(type, 16), at + 4);
    head.writeUInt32LE(start, at + 8);
    head.writeUInt32LE(size, at + 12);
  }
}

function writeGpt(head: Buffer, { sectorBytes, sectors, partitions, slots = 128, entriesAt = 2 }: TableLayout): void {
  const entries = Buffer.alloc(slots * 128);
  for (const { number, start, size, type, name = '' } of partitions) {
    const at = 128 * (number - 1);
    writeGuid(entries, at, type);
    entries.write('partition-id', at + 16);
    entries.writeBigUInt64LE(BigInt(start), at + 32);
    entries.writeBigUInt64LE(BigInt(start + size - 1), at + 40);
    entries.write(name, at + 56, 72, 'utf16le');
  }
  entries.copy(head, entriesAt * sectorBytes);
  const tableSectors = Math.ceil(entries.length / sectorBytes);
  const header = Buffer.alloc(92);
  header.write('EFI PART');
  header.writeUInt32LE(0x10000, 8);
  header.writeUInt32LE(header.length, 12);
  const places = [1, sectors - 1, entriesAt + tableSectors, sectors - tableSectors - 2];
  for (const [index, place] of places.entries()) header.writeBigUInt64LE(BigInt(place), 24 + 8 * index);
  header.writeBigUInt64LE(BigInt(entriesAt), 72);
  header.writeUInt32LE(slots, 80);
  header.writeUInt32LE(128, 84);
  header.writeUInt32LE(crc32(entries), 88);
  header.writeUInt32LE(crc32(header), 16);
  header.copy(head, sectorBytes);
}

function writeGuid(into: Buffer, at: number, guid: string): void {
  const bytes = Buffer.from(guid.replaceAll('-', ''), 'hex');
  const order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
  for (const [index, from] of order.entries()) into.writeUInt8(bytes[from] ?? 0, at + index);
}
