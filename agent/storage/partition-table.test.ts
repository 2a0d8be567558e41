import { expect, test } from 'vitest';
import { readPartitionTable } from '#agent/storage/partition-table.ts';

function disk(write: (head: Buffer) => void): Buffer {
  const head = Buffer.alloc(8192);
  head.writeUInt16LE(0xaa55, 510);
  write(head);
  return head;
}

/** Writes an entry for a GPT into the slot there. */
function protect(head: Buffer, at: number, sectors = 1000): void {
  head[at + 4] = 0xee;
  head.writeUInt32LE(1, at + 8);
  head.writeUInt32LE(sectors, at + 12);
}

test.each([
  [
    'GPT for 512 byte sectors',
    disk((head) => head.write('EFI PART', 512)),
    { kind: 'gpt', gptSectorBytes: 512, hasBootCode: false },
  ],
  [
    'GPT for 4096 byte sectors',
    disk((head) => head.write('EFI PART', 4096)),
    { kind: 'gpt', gptSectorBytes: 4096, hasBootCode: false },
  ],
  [
    'MBR with identifier and boot code',
    disk((head) => {
      head.writeUInt32LE(0x12345678, 440);
      head[0] = 0xfa;
      head[450] = 0x83;
      head.writeUInt32LE(2048, 458);
    }),
    { kind: 'msdos', diskId: '0x12345678', hasBootCode: true },
  ],
  [
    'a short identifier',
    disk((head) => head.writeUInt32LE(0xabc, 440)),
    { kind: 'none', diskId: '0x00000abc', hasBootCode: false },
  ],
  [
    'a signed sector whose entries are none of an MBR',
    disk((head) => head.writeUInt8(0x55, 446)),
    { kind: 'unknown', hasBootCode: false },
  ],
  ['an Apple partition map', disk((head) => head.write('PM\0\0', 512)), { kind: 'unknown', hasBootCode: false }],
  [
    'an MBR that protects a GPT that is not there',
    disk((head) => protect(head, 446)),
    { kind: 'unknown', hasBootCode: false },
  ],
  [
    'a protective entry of no length beside a partition',
    disk((head) => {
      protect(head, 462, 0);
      head[450] = 0x83;
      head.writeUInt32LE(2048, 458);
    }),
    { kind: 'unknown', hasBootCode: false },
  ],
  ['an empty disk', Buffer.alloc(8192), { kind: 'none', hasBootCode: false }],
  ['less than a sector', Buffer.alloc(100), { kind: 'none', hasBootCode: false }],
])('%s', (_name, head, expected) => {
  expect(readPartitionTable(head)).toEqual(expected);
});
