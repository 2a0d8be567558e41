import { expect, test } from 'vitest';
import { createRigs } from '#conductor/drivers/redfish/testing/rigs.ts';
import type { ShownMachine } from '#conductor/drivers/shown-machine.ts';

const { rig } = createRigs();
const macs = ['52:54:00:00:00:01', '52:54:00:00:00:02'];
const gib = 1024 ** 3;
const systemPath = '/redfish/v1/Systems/1';

const whole: Partial<ShownMachine> = {
  cpu: { architecture: 'x86_64', count: 8, sockets: 1, model: 'Simulated', maxMhz: 3200 },
  memoryMb: 16_384,
  cards: [
    { name: 'NIC.1', mac: macs[0]!, isDisabled: false, hasLink: true, speedMbps: 10_000 },
    { name: 'NIC.2', mac: macs[1]!, isDisabled: false, hasLink: false, speedMbps: 10_000 },
  ],
};
const parts = ({ unknown }: ShownMachine): string[] => [...new Set(unknown.map(({ part }) => part))];

async function read(
  more: Parameters<typeof rig>[0] = {},
  odd: (bmc: Awaited<ReturnType<typeof rig>>) => void = () => {},
) {
  const bmc = await rig({ macs, redfish: { attempts: 1 }, ...more });
  odd(bmc);
  const machine = await bmc.inspection!.readMachine();
  return { machine, bmc };
}

test('a machine is read whole, on or off, and nothing but reads is sent', async () => {
  const { machine, bmc } = await read();
  expect(machine).toMatchObject({ ...whole, unknown: [] });
  expect(machine.vendor).toMatchObject({ serial: 'SIM-1', uuid: '38947555-7742-3448-3784-823347823834' });
  expect(machine.disks).toHaveLength(6);
  expect(machine.disks[0]).toEqual({
    name: 'Disk.Bay.0',
    sizeBytes: 480 * gib,
    model: 'PM1643',
    vendor: 'Simulated',
    serial: 'SN-0',
    wwn: '0x5000c500a1b2c3d0',
    rotational: false,
    tran: 'sas',
  });
  const sent = bmc.simulator.requests.filter(({ path }) => !path.includes('SessionService'));
  expect(new Set(sent.map(({ method }) => method))).toEqual(new Set(['GET']));
  expect(bmc.machine.actions).toEqual([]);
});

test('a volume is shown in place of its drives', async () => {
  const { bmc } = await read();
  const [controller] = await bmc.raid!.getControllers();
  await bmc.raid!.createVolume({
    controller: controller!,
    level: '1',
    drives: controller!.drives.slice(0, 2),
    name: 'system',
    sizeBytes: undefined,
  });
  const { disks } = await bmc.inspection!.readMachine();
  expect(disks.map(({ name, sizeBytes }) => [name, sizeBytes])).toContainEqual(['system', 480 * gib]);
  expect(disks.map(({ name }) => name)).not.toContain('Disk.Bay.0');
  expect(disks).toHaveLength(5);
});

test.each([
  ['cpu', `${systemPath}/Processors`, { cpu: { count: 8, architecture: undefined } }],
  ['cpu', `${systemPath}/Processors/CPU.1`, { cpu: { count: 8, architecture: undefined } }],
  ['interfaces', `${systemPath}/EthernetInterfaces`, { cards: [] }],
  ['interfaces', `${systemPath}/EthernetInterfaces/NIC.1`, { cards: [{ name: 'NIC.2' }] }],
  ['disks', `${systemPath}/Storage`, { disks: [] }],
  ['disks', `${systemPath}/Storage/RAID.Integrated.1-1/Volumes`, {}],
  ['disks', `${systemPath}/Storage/RAID.Integrated.1-1/Drives/Disk.Bay.3`, {}],
] as const)('%s is unknown where %s can’t be read, and the rest is read', async (part, path, left) => {
  const { machine } = await read({}, ({ simulator }) =>
    simulator.inject({ path: new RegExp(`^${path}$`), status: 500, times: 99 }),
  );
  expect(parts(machine)).toEqual([part]);
  expect(machine).toMatchObject(left);
  expect(machine.memoryMb).toBe(16_384);
});

test('a card that hangs costs its own time, and no other', async () => {
  const { machine } = await read({ redfish: { attempts: 1, answerMs: 50 } }, ({ simulator }) =>
    simulator.inject({ path: /EthernetInterfaces\/NIC\.1$/, hang: true, times: 99 }),
  );
  expect(parts(machine)).toEqual(['interfaces']);
  expect(machine.cards.map(({ mac }) => mac)).toEqual([macs[1]]);
  expect(machine.disks).toHaveLength(6);
});

const answers =
  (path: string, body: object) =>
  ({ simulator }: Awaited<ReturnType<typeof rig>>) =>
    simulator.inject({ path: new RegExp(`^${path}$`), body: { '@odata.id': path, Name: 'x', ...body }, times: 99 });

test('memory is the sum of the modules where the system tells none, and unknown where one of them doesn’t', async () => {
  const bare = answers(systemPath, { Memory: { '@odata.id': `${systemPath}/Memory` } });
  expect((await read({}, bare)).machine.memoryMb).toBe(16_384);
  const { machine } = await read({}, (bmc) => {
    bare(bmc);
    answers(`${systemPath}/Memory/DIMM.A2`, { Status: { State: 'Enabled' } })(bmc);
  });
  expect(machine.memoryMb).toBeUndefined();
  expect(parts(machine)).toEqual(['cpu', 'memory', 'interfaces', 'disks']);
  const empty = answers(`${systemPath}/Memory/DIMM.A2`, { CapacityMiB: null, Status: { State: 'Absent' } });
  const half = await read({}, (bmc) => {
    bare(bmc);
    empty(bmc);
  });
  expect(half.machine.memoryMb).toBe(8192);
});

test.each([
  [{ InstructionSet: 'ARM-A64', ProcessorArchitecture: 'ARM', ProcessorType: 'CPU' }, 'aarch64'],
  [{ ProcessorArchitecture: 'x86' }, 'x86_64'],
  [{ InstructionSet: 'IA-64', ProcessorArchitecture: 'x86' }, undefined],
  [{ ProcessorArchitecture: 'ARM' }, undefined],
  [{ ProcessorType: 'GPU', ProcessorArchitecture: 'OEM' }, undefined],
])('processor %o is %s', async (body, architecture) => {
  const { machine } = await read({}, answers(`${systemPath}/Processors/CPU.1`, body));
  expect(machine.cpu?.architecture).toBe(architecture);
  expect(parts(machine)).toEqual(architecture === undefined ? ['cpu'] : []);
});

test('cards that are absent or have no address are left out, one that is switched off says so', async () => {
  const card = (body: object) => answers(`${systemPath}/EthernetInterfaces/NIC.1`, { Id: 'NIC.1', ...body });
  const cardsWith = async (body: object) => (await read({}, card(body))).machine.cards;
  expect(await cardsWith({ MACAddress: macs[0], Status: { State: 'Absent' } })).toHaveLength(1);
  expect(await cardsWith({ MACAddress: '' })).toHaveLength(1);
  expect(await cardsWith({ MACAddress: '', PermanentMACAddress: '52-54-00-00-00-0A' })).toMatchObject([
    { mac: '52:54:00:00:00:0a' },
    { mac: macs[1] },
  ]);
  expect(await cardsWith({ MACAddress: macs[0], PermanentMACAddress: '52:54:00:00:00:0a' })).toMatchObject([
    { mac: macs[0] },
    { mac: macs[1] },
  ]);
  expect(await cardsWith({ MACAddress: '00:00:00:00:00:00' })).toHaveLength(1);
  expect(await cardsWith({ MACAddress: macs[0], Status: { State: 'Disabled' } })).toMatchObject([
    { mac: macs[0], isDisabled: true },
    { mac: macs[1], isDisabled: false },
  ]);
});

test('where there is no Storage, SimpleStorage shows the disks', async () => {
  const simple = `${systemPath}/SimpleStorage`;
  const { machine } = await read({}, (bmc) => {
    answers(systemPath, { SimpleStorage: { '@odata.id': simple } })(bmc);
    answers(simple, { Members: [{ '@odata.id': `${simple}/1` }], 'Members@odata.count': 1 })(bmc);
    answers(`${simple}/1`, {
      Devices: [
        { Name: 'SATA 1', CapacityBytes: 500 * gib, Model: 'Fast', Status: { State: 'Enabled' } },
        { Name: 'SATA 2', Status: { State: 'Absent' } },
      ],
    })(bmc);
  });
  expect(machine.disks).toMatchObject([{ name: 'SATA 1', sizeBytes: 500 * gib, model: 'Fast' }]);
});

test('a login that is refused is an error, not a machine without parts', async () => {
  const bmc = await rig({ macs, driverInfo: { redfish_password: 'wrong' } });
  await expect(bmc.inspection!.readMachine()).rejects.toThrow(/401/);
});
