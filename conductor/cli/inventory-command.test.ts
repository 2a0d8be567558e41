import { expect, test } from 'vitest';
import { createRecordingTerminal } from '#conductor/cli/testing/recording-terminal.ts';

const disk = (serial: string, size = 960) => ({ name: `/dev/${serial}`, model: 'S', size, serial, wwn: serial });
const inventory = (more: object = {}) => ({
  cpu: { model_name: 'EPYC', count: 64, frequency: '2200' },
  memory: { physical_mb: 262_144, total: 270_000 },
  disks: [disk('a'), disk('b')],
  interfaces: [{ name: 'eth0', mac_address: '52:54:00:00:00:01', product: '0x1572', speed_mbps: 10_000 }],
  bmc_address: '10.0.0.1',
  ...more,
});
const machines: Record<string, object> = {
  ref: inventory(),
  same: inventory({ disks: [disk('x'), disk('y')], bmc_address: '10.0.0.2' }),
  odd: inventory({ disks: [disk('x'), disk('y', 480), disk('z', 480)], memory: { physical_mb: 131_072 } }),
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
  expect(text).toContain('− disks: model=S size=960\n');
  expect(text).toContain('+ 2 × disks: model=S size=480\n');
  expect(text).toContain('− memory.physical_mb: 262144\n');
  expect(text).toContain('+ memory.physical_mb: 131072\n');
  expect(text).not.toMatch(/serial|52:54|10\.0\.0/);
});

test('a whole class is compared without a further word, since nothing is changed', async () => {
  const found = JSON.parse(
    await terminal().run('inventory', 'diff', '--class', 'gold', '--reference', 'ref', '-o', 'json'),
  );
  expect(found).toMatchObject([{ node: 'same', differences: [] }, { node: 'odd' }]);
  await expect(terminal().run('inventory', 'diff', 'odd')).rejects.toThrow('--reference');
});
