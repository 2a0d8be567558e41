import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { layOutMachine, RecordedMachine, readRecordedMachine } from '#agent/hardware/testing/recorded-machine.ts';
import { readPrintedTexts } from '#agent/inspection/printed-texts.ts';
import { RecordedDisks, readingOf, readRecordedDisks } from '#agent/storage/testing/recorded-disks.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { recordCommand } from '#conductor/cli/shell/record-command.ts';
import { recordInspected } from '#conductor/nodes/inspection/inventory-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';
import { openTestApi } from '#test/support/test-api.ts';

/** The way from a machine whose disks are read wrongly to a recording that a test reads: CONTRIBUTING.md shows it. */

const api = await openTestApi();
afterAll(() => api.close());

/** A machine of a SATA disk with two names and a SAS disk whose label is not its WWN. */
const udev: Readonly<Record<string, string>> = {
  '/dev/sda': `USEC_INITIALIZED=2100001
ID_SERIAL=ST4000NM0035_ZC1Q7B2K
ID_SERIAL_SHORT=ZC1Q7B2K
ID_WWN=0x5000c500a1b2c3d4
ID_PATH=pci-0000:00:17.0-ata-1.0
DEVLINKS=/dev/disk/by-path/pci-0000:00:17.0-ata-1 /dev/disk/by-id/wwn-0x5000c500a1b2c3d4 /dev/disk/by-path/pci-0000:00:17.0-ata-1.0
`,
  '/dev/sdb': `USEC_INITIALIZED=4100001
SCSI_IDENT_SERIAL=KJGATM4R
ID_SERIAL=35000cca0541ae674
ID_SERIAL_SHORT=5000cca0541ae674
ID_WWN=0x5000cca0541ae674
ID_PATH=pci-0000:18:00.0-sas-0x5001438aaaaaaa81-lun-0
DEVLINKS=/dev/disk/by-id/scsi-35000cca0541ae674 /dev/disk/by-path/pci-0000:18:00.0-sas-0x5001438aaaaaaa81-lun-0
`,
};
const lsblk = {
  blockdevices: [
    { name: 'sda', path: '/dev/sda', type: 'disk', size: 4e12, serial: 'ZC1Q7B2K', wwn: '0x5000c500a1b2c3d4' },
    { name: 'sdb', path: '/dev/sdb', type: 'disk', size: 4e12, serial: '5000cca0541ae674', wwn: '0x5000cca0541ae674' },
    { name: 'sr0', path: '/dev/sr0', type: 'rom', size: 1024 },
  ],
};
const dmidecode = `# dmidecode 3.4
SMBIOS 3.2.0 present.

Handle 0x0001, DMI type 1, 27 bytes
System Information
	Serial Number: ABC1234
	UUID: 4c4c4544-0042-4410-8031-b4c04f334b32

Handle 0x0002, DMI type 2, 15 bytes
Base Board Information
	Manufacturer: Dell Inc.
	Product Name: 0H28RR
	Serial Number: CN7016359B00AB

Handle 0x0026, DMI type 17, 84 bytes
Memory Device
	Total Width: 72 bits
	Data Width: 64 bits
	Size: 32 GB
	Form Factor: DIMM
	Locator: DIMMA1
	Type: DDR4
	Serial Number: 28D4A1AA
	Part Number: 18ADF4G72AZ-2G6B2
`;
const secrets = ['ZC1Q7B2K', '5000c500a1b2c3d4', '5000cca0541ae674', '5001438aaaaaaa81', 'KJGATM4R', '28D4A1AA'];
const own = [...secrets, 'ABC1234', 'CN7016359B00AB', '4c4c4544-0042', 'aabbcc0a0001', 'aa:bb:cc:0a:00:01'];

const machineRun: Run = (command, args) => {
  const texts: Readonly<Record<string, string | undefined>> = {
    lsblk: JSON.stringify(lsblk),
    udevadm: udev[args.at(-1)?.replace('--name=', '') ?? ''],
    dmidecode,
  };
  const text = texts[command];
  return text === undefined
    ? Promise.reject(new AppError('command_failed', `${command} could not be started`))
    : Promise.resolve(ranWell(text));
};

/** The file that `baton node record` prints. */
async function record(): Promise<string> {
  const { uuid: nodeUuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1' });
  const texts = await readPrintedTexts({ run: machineRun, log: silentLog });
  // this computer's own cards are another test's
  const ofMachine = Object.entries(texts).filter(([name]) => !name.includes('/sys/'));
  const pluginData = { baton_texts: Object.fromEntries(ofMachine) };
  const tlvs = [
    [1, '04aabbcc0a0001'],
    [2, `05${Buffer.from('Ethernet1/7').toString('hex')}`],
    [8, '05010a010203020000000100'],
    [127, `0012bb08${Buffer.from('JPE19471234').toString('hex')}`],
  ];
  const inventory = { interfaces: [{ name: 'eth0', mac_address: 'aa:bb:cc:0a:00:02', lldp: tlvs }], disks: [] };
  await api.context.db.transaction((tx) => recordInspected(tx, { nodeUuid, inventory, pluginData }));
  const printed: string[] = [];
  const command = recordCommand({ words: 'record', operand: 'IT', path: '/v1/nodes', meaning: '', details: '' });
  const context = {
    client: { call: async (method: string, at: string) => (await api.call(method, at)).body },
    screen: { write: (text: string) => printed.push(text), isTerminal: false },
  };
  const input = { operands: ['n1'], values: {}, document: undefined };
  await command.run(context as unknown as Parameters<typeof command.run>[0], input);
  return printed.join('');
}

const text = await record();
const made = z.looseObject({ outputs: z.record(z.string(), z.string()) }).parse(parse(text));

/** Files it below a subject, as an operator's issue is, and reads it back with the subject's loader. */
async function file<Reading>(reading: unknown, schema: z.ZodType<Reading>) {
  const folder = await mkdtemp(join(tmpdir(), 'baton-record-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'dell'));
  const filled = { ...made, source: 'https://issues.example/7', shows: 'two disks read wrongly', reading };
  await writeFile(join(folder, 'dell/n1.yaml'), stringify(filled));
  const [recording, ...others] = await readRecordings(relative(import.meta.dirname, folder), schema);
  expect(others).toEqual([]);
  if (!recording) throw new Error('no recording');
  return { recording, folder };
}

test('nothing in it is the machine’s own', () => {
  expect(own.filter((each) => text.toLowerCase().includes(each.toLowerCase()))).toEqual([]);
  expect(Object.keys(made.outputs)).toEqual(
    expect.arrayContaining(['inventory', 'lsblk --json', 'udevadm info --query=property --name=/dev/sda', 'dmidecode']),
  );
});

test('filed below disks it is read there, each disk by its own names', async () => {
  const [sata, sas] = ['/dev/disk/by-path/pci-0000:00:17.0-ata-1', '/dev/disk/by-path/pci-0000:18:00.0-sas-'];
  const reading = readingOf(await readRecordedDisks(made.outputs), {});
  const { recording } = await file(reading, RecordedDisks);
  const disks = await readRecordedDisks(recording.outputs);
  expect(readingOf(disks, recording.reading)).toEqual(reading);
  expect(disks).toMatchObject([
    { name: '/dev/sda', byPath: `${sata}.0`, links: expect.arrayContaining([sata]) as unknown },
    { name: '/dev/sdb', byPath: expect.stringContaining(sas) as unknown },
  ]);
  // as many, of the same forms, as the machine has: none has become a placeholder, none is lost
  expect(disks.map(({ serials, wwns }) => [serials.length, wwns.length])).toEqual([
    [2, 1],
    [3, 1],
  ]);
  const [first, second] = disks;
  expect(first?.serials[1]).toBe(`ST4000NM0035_${first?.serial}`);
  expect(second?.serials).toEqual([second?.serial, second?.wwn?.slice(2), `3${second?.wwn?.slice(2)}`]);
});

test('filed below machines it is read there', async () => {
  const { recording, folder } = await file(
    { slots: 1, board: { manufacturer: 'Dell Inc.', model: '0H28RR' }, modules: [{ slot: 'DIMMA1', size_mb: 32_768 }] },
    RecordedMachine,
  );
  vi.stubEnv('PATH', `${await layOutMachine(folder, recording.outputs)}:/usr/bin:/bin`);
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await readRecordedMachine(folder, recording.outputs, recording.reading)).toMatchObject(recording.reading);
});

test("the switch's words are there as they came, but for its address", () => {
  const { interfaces } = z
    .looseObject({ interfaces: z.array(z.looseObject({ lldp: z.array(z.tuple([z.number(), z.string()])) })) })
    .parse(JSON.parse(made.outputs['inventory'] ?? ''));
  const [chassis, port, management, serial] = interfaces[0]?.lldp ?? [];
  expect(chassis).toEqual([1, expect.stringMatching(/^0400005e0053[0-9a-f]{2}$/)]);
  expect(port).toEqual([2, `05${Buffer.from('Ethernet1/7').toString('hex')}`]);
  expect(management).toEqual([8, expect.stringMatching(/^0501c00002[0-9a-f]{2}020000000100$/)]);
  expect(serial?.[1]).toMatch(new RegExp(`^0012bb08${Buffer.from('AAAAAAAAA').toString('hex')}3\\d3\\d$`));
});
