import { expect, test } from 'vitest';
import { parseDiskTable, partitionsIn, readDiskTable, writeDiskTable } from '#agent/storage/sfdisk.ts';
import type { Run, RunOptions } from '#shared/process/run.ts';

/** sfdisk 2.38 of a GPT with 512-byte sectors. */
const recorded = `{
   "partitiontable": {
      "label": "gpt",
      "id": "5E2A9A4C-6C8E-4A94-9C4B-9E2B3B1F7C11",
      "device": "/dev/nvme0n1",
      "unit": "sectors",
      "firstlba": 2048,
      "lastlba": 12582878,
      "sectorsize": 512,
      "partitions": [
         {
            "node": "/dev/nvme0n1p1",
            "start": 1128448,
            "size": 11452416,
            "type": "A19D880F-05FC-4D3B-A006-743F0F84911E",
            "uuid": "0B6B6BE5-7C1E-49B6-8FA7-0F7D1D8B9E0A",
            "name": "md0"
         }
      ]
   }
}`;

test('a GPT', () => {
  expect(parseDiskTable(recorded, '/dev/nvme0n1')).toEqual({
    label: 'gpt',
    partitions: [
      {
        number: 1,
        startBytes: 551 * 1024 ** 2,
        sizeBytes: 5592 * 1024 ** 2,
        type: 'a19d880f-05fc-4d3b-a006-743f0f84911e',
        name: 'md0',
      },
    ],
  });
});

test('an empty MBR, a table of another kind, no table, and what is not JSON', async () => {
  const dos =
    '{"partitiontable": {"label":"dos", "id":"0x1", "device":"/dev/vda", "unit":"sectors", "sectorsize":512}}';
  expect(parseDiskTable(dos, '/dev/vda')).toEqual({ label: 'msdos', partitions: [] });
  const sun = parseDiskTable(dos.replace('dos', 'sun'), '/dev/vda');
  expect(sun).toEqual({ label: 'unknown', is: 'sun' });
  expect(() => partitionsIn(sun, '/dev/vda')).toThrow(
    'disk /dev/vda has a partition table of kind sun, which is not read here: its partitions are not known',
  );
  const failing =
    (stderr: string): Run =>
    async () => ({ stdout: '', stderr, exitCode: 1, durationMs: 1 });
  const none = failing('sfdisk: /dev/vda: does not contain a recognized partition table\n');
  const noTable = await readDiskTable(none, '/dev/vda');
  expect(noTable).toEqual({ label: 'none' });
  expect(partitionsIn(noTable, '/dev/vda')).toEqual([]);
  await expect(readDiskTable(failing('sfdisk: cannot open /dev/vda: Input/output error'), '/dev/vda')).rejects.toThrow(
    'read the partition table of /dev/vda: sfdisk: cannot open /dev/vda: Input/output error',
  );
  const refused = 'parse the partition table that sfdisk reports for /dev/vda';
  expect(() => parseDiskTable('{}', '/dev/vda')).toThrow(refused);
  // places in sectors of an unknown size are no places, and a partition without a number none
  expect(() => parseDiskTable(dos.replace(', "sectorsize":512', ''), '/dev/vda')).toThrow(refused);
  expect(() => parseDiskTable(recorded.replace('nvme0n1p1"', 'data"'), '/dev/vda')).toThrow(refused);
});

test('the script that writes one', async () => {
  const seen: [string, RunOptions | undefined][] = [];
  const run: Run = async (command, args, options) => {
    seen.push([[command, ...args].join(' '), options]);
    return { stdout: '', stderr: '', exitCode: 0, durationMs: 1 };
  };
  const partition = { number: 1, startBytes: 1024 ** 2, sizeBytes: 2 * 1024 ** 3, type: 'fd', name: null };
  await writeDiskTable(run, '/dev/vda', { label: 'msdos', partitions: [partition] });
  expect(seen).toEqual([
    [
      'sfdisk --quiet --wipe=always --wipe-partitions=always /dev/vda',
      { input: 'label: dos\n1 : start=1MiB, size=2048MiB, type=fd\n' },
    ],
  ]);
});
