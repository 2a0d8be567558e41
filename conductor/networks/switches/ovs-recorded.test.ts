import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { type FoundVlans, isolated, portVlans, vlansIn } from '#conductor/model/port-vlans.ts';
import { ovsDriver } from '#conductor/networks/switches/ovs.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';
import { startOvsdbSwitch } from '#test/simulators/switch/ovsdb.ts';

/** Open vSwitch that begins with recorded rows: what they say is read, and one port of them moves while the others stay. */

const Vlans = z.union([z.string(), z.number(), z.object({ native: z.number().optional(), tagged: z.coerce.string() })]);
const recordings = await readRecordings('switches/ovs', z.object({ ports: z.record(z.string(), Vlans) }));

function vlansOf(reading: z.infer<typeof Vlans> | undefined): FoundVlans {
  if (typeof reading === 'number') return portVlans(reading);
  if (typeof reading === 'object') return portVlans(reading.native, vlansIn(reading.tagged));
  return reading === 'isolated' ? isolated : 'other';
}

test.each(recordings.map((each) => [each.name, each] as const))('%s', async (_, { outputs, reading }) => {
  const simulated = await startOvsdbSwitch(JSON.parse(outputs['select Port'] ?? ''));
  const connection = ovsDriver.connect({ endpoint: simulated.endpoint });
  onTestFinished(async () => {
    await connection.close();
    await simulated.stop();
  });
  const ports = Object.keys(reading.ports);
  const before = ports.map((portId) => ({ portId, vlans: vlansOf(reading.ports[portId]) }));
  expect(await connection.readPorts(ports)).toEqual(before);
  for (const mover of ports) {
    const others = structuredClone(simulated.ports.filter(({ name }) => name !== mover));
    for (const vlans of [isolated, portVlans(100), portVlans(100, [200]), isolated]) {
      await connection.apply([{ portId: mover, vlans }]);
      expect(await connection.readPorts([mover])).toEqual([{ portId: mover, vlans }]);
      expect(simulated.ports.filter(({ name }) => name !== mover)).toEqual(others);
    }
  }
});

test('a port that a mirror sends to is not isolated, and a move of it says so', async () => {
  const row = (name: string) => ({ _uuid: ['uuid', name], name, tag: 100, trunks: ['set', []], vlan_mode: 'access' });
  const simulated = await startOvsdbSwitch(['p1', 'p2'].map(row), [
    { output_port: ['uuid', 'p1'] },
    { output_port: ['set', []] },
  ]);
  const connection = ovsDriver.connect({ endpoint: simulated.endpoint });
  onTestFinished(async () => {
    await connection.close();
    await simulated.stop();
  });
  expect((await connection.readPorts(['p1', 'p2'])).map(({ vlans }) => vlans)).toEqual(['other', portVlans(100)]);
  await expect(connection.apply([{ portId: 'p1', vlans: isolated }])).rejects.toMatchObject({
    message: expect.stringMatching(/port p1 .* reads other settings: .* or a mirror sends to it/),
  });
});
