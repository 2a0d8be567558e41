import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { readBoards } from '#agent/hardware/inventory-boards.ts';
import { run } from '#shared/process/run.ts';

/** Output of Debian's dmidecode 3.4: two modules of three places. */
const memory = `# dmidecode 3.4
Handle 0x1000, DMI type 16, 23 bytes
Physical Memory Array
	Location: System Board Or Motherboard
	Maximum Capacity: 4 TB
	Number Of Devices: 3

Handle 0x1100, DMI type 17, 92 bytes
Memory Device
	Total Width: 80 bits
	Data Width: 64 bits
	Size: 32 GB
	Form Factor: DIMM
	Locator: A1
	Bank Locator: Not Specified
	Type: DDR5
	Speed: 5600 MT/s
	Manufacturer: 00CE063200CE
	Serial Number: 80CE01223344556677
	Part Number: M321R4GA3PB0-CWMKJ   \x20
	Configured Memory Speed: 4800 MT/s

Handle 0x1101, DMI type 17, 92 bytes
Memory Device
	Total Width: Unknown
	Data Width: Unknown
	Size: No Module Installed
	Form Factor: DIMM
	Locator: A2
	Bank Locator: Not Specified
	Type: Unknown
	Speed: Unknown
	Manufacturer: Not Specified
	Serial Number: Not Specified
	Part Number: Not Specified

Handle 0x1102, DMI type 17, 92 bytes
Memory Device
	Total Width: 64 bits
	Data Width: 64 bits
	Size: 16384 MB
	Form Factor: DIMM
	Locator: B1
	Bank Locator: Not Specified
	Type: DDR4
	Speed: 3200 MT/s
	Manufacturer: Unknown
	Serial Number: 00000000
	Part Number: NO DIMM
`;
const board = `Handle 0x0200, DMI type 2, 8 bytes
Base Board Information
	Manufacturer: ACME Inc.
	Product Name: 0MTYT3
	Version: To Be Filled By O.E.M.
	Serial Number: .7XKQ1S3.CNWS3002AB001C.
`;

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-boards-'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true });
});

/** Sets what `dmidecode` prints for each type that it is asked for. */
async function firmwareSays(texts: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(texts)) await writeFile(join(directory, name), text);
  const program = join(directory, 'dmidecode');
  await writeFile(program, `#!/bin/sh\ncat "${directory}/$2" 2>/dev/null || exit 1\n`);
  await chmod(program, 0o755);
  vi.stubEnv('PATH', `${directory}:/usr/bin:/bin`);
}

test('memory by its places, and the board', async () => {
  await firmwareSays({ memory, 17: memory, 2: board });
  const found = await readBoards(run);
  expect(found.slots).toBe(3);
  expect(found.modules).toEqual([
    {
      slot: 'A1',
      size_mb: 32_768,
      type: 'DDR5',
      form_factor: 'DIMM',
      speed_mts: 4800,
      ecc: true,
      manufacturer: '00CE063200CE',
      part_number: 'M321R4GA3PB0-CWMKJ',
      serial_number: '80CE01223344556677',
    },
    {
      slot: 'B1',
      size_mb: 16_384,
      type: 'DDR4',
      form_factor: 'DIMM',
      speed_mts: 3200,
      ecc: false,
      manufacturer: null,
      part_number: null,
      serial_number: null,
    },
  ]);
  expect(found.board).toMatchObject({
    manufacturer: 'ACME Inc.',
    model: '0MTYT3',
    version: null,
    serial_number: '.7XKQ1S3.CNWS3002AB001C.',
  });
});

test('firmware that says nothing of memory', async () => {
  await firmwareSays({});
  expect(await readBoards(run)).toMatchObject({ slots: null, modules: null });
});
