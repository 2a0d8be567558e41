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
  sly: inventory({ disks: [disk('a'), disk('b')], cpu: { model_name: '\u001B[2JEPYC\nnode odd: as ref', count: 64 } }),
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

test('what a machine says of itself moves no cursor and is no line of its own', async () => {
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
});
