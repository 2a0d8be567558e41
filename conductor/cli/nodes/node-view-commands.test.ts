import { expect, test } from 'vitest';
import { createRecordingTerminal } from '#conductor/cli/testing/recording-terminal.ts';

const disk = (serial: string, size = 960) => ({
  name: `/dev/${serial}`,
  model: 'S',
  size,
  serial,
  wwn: serial,
  baton_firmware: 'F1',
  baton_health: { passed: serial !== 'x' },
});
const memoryModule = (slot: string, speed = 4800) => ({ slot, size_mb: 32_768, speed_mts: speed, serial_number: slot });
const gpu = { address: '0000:17:00.0', class: '3D controller', product: 'A100', slot: '7', driver: null };
const inventory = (more: object = {}) => ({
  cpu: { model_name: 'EPYC', count: 64, frequency: '2200' },
  memory: { physical_mb: 262_144, total: 270_000, baton_modules: [memoryModule('A1'), memoryModule('B1')] },
  baton_pci_devices: [gpu, { ...gpu, address: '0000:65:00.0', slot: '8' }],
  baton_accelerators: [gpu, gpu],
  disks: [disk('a'), disk('b')],
  interfaces: [{ name: 'eth0', mac_address: '52:54:00:00:00:01', product: '0x1572', speed_mbps: 10_000 }],
  bmc_address: '10.0.0.1',
  ...more,
});
const machines: Record<string, object> = {
  ref: inventory(),
  same: inventory({ disks: [disk('x'), disk('y')], bmc_address: '10.0.0.2' }),
  sly: inventory({ disks: [disk('a'), disk('b')], cpu: { model_name: '\u001B[2JEPYC\nnode odd: as ref', count: 64 } }),
  odd: inventory({ disks: [disk('x'), disk('y', 480), disk('z', 480)], memory: { physical_mb: 131_072 } }),
  swapped: inventory({
    memory: { physical_mb: 262_144, baton_modules: [memoryModule('A1'), memoryModule('B2', 4400)] },
    baton_pci_devices: [gpu],
    baton_accelerators: [gpu],
  }),
};
const terminal = () =>
  createRecordingTerminal((request) => {
    const name = /nodes\/(\w+)\/inventory/.exec(request)?.[1];
    if (name !== undefined) return { inventory: machines[name] };
    return { nodes: ['same', 'odd'].map((each) => ({ uuid: each, name: each, traits: [] })) };
  });

test('what machines are bought by is compared, and nothing that every machine has of its own', async () => {
  const text = await terminal().run('inventory', 'diff', 'same', 'odd', '--reference', 'ref');
  expect(text).toContain('node same: as ref\n');
  expect(text).toContain('− disks: firmware=F1 model=S size=960\n');
  expect(text).toContain('+ 2 × disks: firmware=F1 model=S size=480\n');
  expect(text).toContain('− memory.physical_mb: 262144\n');
  expect(text).toContain('+ memory.physical_mb: 131072\n');
  expect(text).not.toMatch(/serial|52:54|10\.0\.0|health/);
});

test('a module that runs slower, and a GPU that is missing, are told once', async () => {
  expect(await terminal().run('inventory', 'diff', 'swapped', '--reference', 'ref')).toBe(
    `node swapped:
  + memory.modules: size_mb=32768 speed_mts=4400
  − memory.modules: size_mb=32768 speed_mts=4800
  − pci_devices: class=3D controller product=A100
`,
  );
});

test('what a machine says of itself moves no cursor and is not a line of its own', async () => {
  const text = await terminal().run('inventory', 'diff', 'sly', '--reference', 'ref');
  expect(text).toContain('+ cpu.model_name: \uFFFD[2JEPYC node odd: as ref\n');
  expect(text).not.toContain('\u001B');
  expect(text).not.toMatch(/^node odd/m);
  const same = await terminal().run('inventory', 'diff', 'a\u001B', '--reference', 'b\u001B');
  expect(same).toBe('node a\uFFFD: as b\uFFFD\n');
});

test('a whole class is compared without a further word, since nothing is changed', async () => {
  const found = JSON.parse(
    await terminal().run('inventory', 'diff', '--class', 'gold', '--reference', 'ref', '-o', 'json'),
  );
  expect(found).toMatchObject([{ node: 'same', differences: [] }, { node: 'odd' }]);
  await expect(terminal().run('inventory', 'diff', 'odd')).rejects.toThrow('--reference');
  await expect(terminal().run('inventory', 'diff')).rejects.toThrow(/--reference NODE must be given: .* NODE\.\.\./);
});
