import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { efiSettings } from '#agent/bios/efi-settings.ts';
import type { EfiVariables } from '#agent/bios/efi-variables.ts';
import { parseKeyUpdate } from '#agent/bios/signature-lists.ts';
import { parseBootEntries } from '#agent/boot/efibootmgr.ts';
import { parseLoaderCsv } from '#agent/boot/loader-csv.ts';
import { decodeConfigDrive } from '#agent/image/config-drive.ts';
import { detectCompression, zstdContentSize } from '#agent/image/decode/compression.ts';
import { parseQcow2Header } from '#agent/image/qcow2/header.ts';
import { readMap } from '#agent/image/qcow2/read-map.ts';
import { makeQcow2 } from '#agent/image/testing/make-qcow2.ts';
import { parseLldpFrame } from '#agent/network/listen-lldp.ts';
import { readPhysicalVolume } from '#agent/storage/lvm-label.ts';
import { readPartitionTable } from '#agent/storage/partition-table.ts';
import { recordedVolume } from '#agent/storage/testing/recorded-lvm.ts';
import { readDhcpLine } from '#conductor/boot/dhcp/dhcp-server.ts';
import { parseLldp } from '#conductor/nodes/inspection/parse-lldp.ts';
import { parseDocuments } from '#conductor/sites/documents/yaml/parse-documents.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { createJsonMeter } from '#shared/peers/json-answers.ts';
import * as fc from '#test/fuzz/fast-check.ts';
import { fuzzRuns, reportFuzz } from '#test/fuzz/fuzz-runs.ts';
import { mutantsOf } from '#test/fuzz/mutants.ts';
import { cpuMs } from '#test/support/cpu-time.ts';

/** Every reader of what comes from disks, images, cables, firmware and documents: a mutant is read or refused. */

const patienceMs = 5000;
const growthBytes = 200 * 1024 * 1024;

interface Parser {
  readonly name: string;
  readonly samples: readonly Buffer[];
  /** Runs in `npm test`. */
  readonly runs: number;
  readonly parse: (bytes: Buffer) => unknown;
}

const disk = Buffer.alloc(96 * 1024, 'content');
const gpt = Buffer.alloc(8192);
gpt.writeUInt16LE(0xaa55, 510);
gpt.write('EFI PART', 512);
const iso = Buffer.alloc(40 * 1024);
iso.write('\x01CD001', 32 * 1024, 'latin1');
const fat = Buffer.alloc(4096);
fat.write('FAT16   ', 54);
fat.writeUInt16LE(512, 11);
fat.writeUInt16LE(0xaa55, 510);
const lldp = (body: string) => Buffer.from(`0180c200000e00112233445588cc${body}`, 'hex');
const signatures = Buffer.alloc(28 + 48);
signatures.writeUInt32LE(signatures.length, 16);
signatures.writeUInt32LE(48, 24);
/** A firmware that answers this for each of its variables. */
const variablesOf = (bytes: Buffer): EfiVariables => ({
  list: () => Promise.resolve([`Boot${bytes.toString('latin1', 0, 4)}`, 'Boot0001', 'BootOrder']),
  read: () => Promise.resolve(bytes),
  write: () => Promise.reject(new Error('nothing is written')),
  delete: () => Promise.reject(new Error('nothing is deleted')),
});
const jsonLimits = { bytes: 1000, depth: 8, values: 50, code: 'agent_error' } as const;

const parsers: readonly Parser[] = [
  {
    name: 'qcow2',
    samples: [makeQcow2(disk, { clusterBits: 9 }), makeQcow2(disk, { clusterBits: 12, compression: 'deflate' })],
    runs: 1000,
    parse: (bytes) =>
      readMap(
        parseQcow2Header(bytes),
        ({ offset, bytes: count }) =>
          offset + count > bytes.length
            ? Promise.reject(new AppError('image_error', 'no such range'))
            : Promise.resolve(bytes.subarray(offset, offset + count)),
        bytes.length,
      ),
  },
  { name: 'partition table', samples: [gpt], runs: 2000, parse: readPartitionTable },
  {
    name: 'LVM label',
    samples: [recordedVolume(0).subarray(0, 16 * 1024)],
    runs: 1000,
    parse: (bytes) =>
      readPhysicalVolume((_, at, length) => Promise.resolve(bytes.subarray(at, at + length)), '/dev/sda', 0),
  },
  {
    name: 'line of dnsmasq',
    samples: [Buffer.from('dnsmasq-dhcp[9]: 305419896 DHCPACK(eth1) 10.77.0.1 52:54:00:77:00:01 host')],
    runs: 1000,
    parse: (bytes) => readDhcpLine(bytes.toString('latin1')),
  },
  {
    name: 'LLDP',
    samples: [lldp('0207040011223344550405057461703106020078fe060080c2010064100c0501c00002010200000001000000')],
    runs: 3000,
    parse: (bytes) => parseLldp(parseLldpFrame(bytes) ?? []),
  },
  {
    name: 'compression',
    samples: [gzipSync(disk), zstdCompressSync(disk), Buffer.from('fd377a585a00', 'hex')],
    runs: 3000,
    parse: (bytes) => [detectCompression(bytes), zstdContentSize(bytes)],
  },
  {
    name: 'config drive',
    samples: [iso, fat, gzipSync(iso)],
    runs: 1000,
    parse: (bytes) => [decodeConfigDrive(bytes), decodeConfigDrive(bytes.toString('base64'))],
  },
  {
    name: 'loader list',
    samples: [Buffer.from('\ufeffshimx64.efi,debian,,This is the boot entry\r\n', 'utf16le')],
    runs: 3000,
    parse: (bytes) => parseLoaderCsv(bytes, 'EFI/debian/BOOTX64.CSV'),
  },
  {
    name: 'EFI variables',
    samples: [Buffer.from('0a00', 'hex'), Buffer.from('000001000300', 'hex'), signatures],
    runs: 1000,
    parse: (bytes) => efiSettings(variablesOf(bytes), () => new Date(0)).read(),
  },
  {
    name: 'boot entries',
    samples: [
      Buffer.from(
        'BootCurrent: 0001\nTimeout: 3 seconds\nBootOrder: 0001,0000\nBoot0000* UiApp\tFvVol(7cb8)\nBoot0001  x\n',
      ),
      Buffer.from(
        'Boot0002* a\tHD(1,MBR,0x1a2b3c4d,0x800,0x20)/File(\\EFI\\a.efi)x\n      dp: 7f ff 04 00 / 04 04 06 00 5c 00\n',
      ),
    ],
    runs: 3000,
    parse: (bytes) => parseBootEntries(bytes.toString('utf8')),
  },
  {
    name: 'signature lists',
    samples: [signatures],
    runs: 3000,
    parse: (bytes) => parseKeyUpdate('efi.secure_boot_db', bytes.toString('base64'), new Date(0)),
  },
  {
    name: 'JSON',
    samples: [Buffer.from('{"a": [1, {"b": "\\u0000\\"]"}], "c": null}')],
    runs: 3000,
    // what the meter lets pass must be parsed without harm, and be no deeper than it says
    parse: (bytes) => {
      createJsonMeter('the peer answers with', jsonLimits).push(bytes);
      let value: unknown;
      try {
        value = JSON.parse(bytes.toString('utf8'));
      } catch {
        return;
      }
      expect(depthOf(value)).toBeLessThanOrEqual(jsonLimits.depth);
    },
  },
  {
    name: 'documents',
    samples: [
      Buffer.from(
        '---\nschema: a/B/v1\nmetadata: &m\n  name: x\n  layeringDefinition: {layer: site}\ndata:\n  <<: *m\n  a: [1, "b"]\n...\n',
      ),
    ],
    runs: 1000,
    parse: (bytes) => parseDocuments(bytes.toString('utf8')),
  },
];

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;

/** Bytes of objects and buffers; what the process has of the system besides is the allocator's, which keeps it. */
function memoryInUse(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** With a turn of the event loop, in which zlib lets go of what it could not unpack: no program but this one goes without. */
async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let round = 0; round < 2; round += 1) {
    collect();
    await setImmediate();
  }
}

test.each(parsers)('$name: no mutant does harm', async ({ name, samples, runs, parse }) => {
  // else the samples are not samples
  for (const sample of samples) await parse(sample);
  const before = memoryInUse();
  const most = { ms: 0, growth: 0, mutants: 0 };
  const property = fc.asyncProperty(mutantsOf(samples), async (bytes) => {
    const since = cpuMs();
    try {
      await parse(bytes);
    } catch (error) {
      if (!(error instanceof AppError) || error.code === 'internal') throw error;
    }
    most.mutants += 1;
    most.ms = Math.max(most.ms, cpuMs() - since);
    if (memoryInUse() - before > growthBytes) await collectGarbage();
    most.growth = Math.max(most.growth, memoryInUse() - before);
    expect(most.ms).toBeLessThan(patienceMs);
    expect(most.growth).toBeLessThan(growthBytes);
  });
  await fc.assert(property, fuzzRuns(runs));
  expect(most.mutants).toBeGreaterThanOrEqual(runs);
  const growth = Math.round(most.growth / 1024 ** 2);
  reportFuzz(`${name}: ${most.mutants} mutants, the slowest ${Math.ceil(most.ms)} ms, memory grew by ${growth} MiB`);
});
