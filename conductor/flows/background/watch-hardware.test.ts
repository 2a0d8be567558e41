import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { LogEntry, ManagementInterface, SensorReading } from '#conductor/drivers/interfaces.ts';
import { createHardwareWatch, newEntries, setMetrics } from '#conductor/flows/background/watch-hardware.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { listHistory } from '#conductor/nodes/node-history.ts';
import { getNode, updateNode } from '#conductor/nodes/node-store.ts';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';
import { type RedfishSimulator, startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let bmc: RedfishSimulator;
let look: () => Promise<void>;

beforeAll(async () => {
  api = await openTestApi();
  await api.reset();
  bmc = await startRedfishSimulator({ machine: createMemoryMachine(), username: 'admin', password: 'secret' });
  const driver_info = { redfish_address: bmc.address, redfish_username: 'admin', redfish_password: 'secret' };
  for (const [name, provisionState] of [
    ['n1', 'active'],
    ['new', 'enroll'],
  ] as const) {
    const { uuid } = await api.call('POST', '/v1/nodes', { driver: 'redfish', name, driver_info });
    await api.context.db.update(nodes).set({ provisionState }).where(eq(nodes.uuid, uuid));
  }
  const { uuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'fake' });
  await api.context.db.update(nodes).set({ provisionState: 'active' }).where(eq(nodes.uuid, uuid));
  const watch = createHardwareWatch(api.context);
  look = () => watch(new AbortController().signal);
});
afterAll(async () => {
  await api.close();
  await bmc.close();
});

const readings = async (name: 'sensorReadings' | 'sensorHealth') =>
  (await api.context.metrics[name].get()).values.map(({ labels, value }) => [labels.node, labels['sensor'], value]);

async function events(): Promise<unknown[]> {
  const { body } = await api.call('GET', '/v1/nodes/n1/history?detail=true');
  const all = body['history'] as { event_type: string; severity: string; event: string }[];
  return all.filter((each) => each.event_type === 'hardware').map(({ severity, event }) => `${severity} ${event}`);
}

test('sensors become metrics, and of a log that was never read the newest entry is history', async () => {
  await look();
  expect(await readings('sensorReadings')).toEqual([
    ['n1', 'Ambient Temp', 19],
    ['n1', 'CPU 1 Temp', 92.5],
    ['n1', 'Fan 1', 4200],
    ['n1', 'Input Power', 312],
  ]);
  expect(await readings('sensorHealth')).toContainEqual(['n1', 'CPU 1 Temp', 1]);
  const newest = 'ERROR event log 2026-11-24T18:00:02.000Z: critical: Power supply 1 lost its input.';
  expect(await events()).toEqual([newest]);
  await look();
  expect(await events()).toEqual([newest]);
});

test('a BMC that tells nothing has no metrics, and stops nobody', async () => {
  bmc.inject({ path: /Chassis|LogServices/, status: 404, times: 50 });
  await look();
  expect(await readings('sensorReadings')).toEqual([]);
  bmc.clearFaults();
  await look();
  expect(await readings('sensorReadings')).toHaveLength(4);
});

/** Makes a watch of BMCs that all give these answers in place of their own. */
function watchWith(management: Partial<ManagementInterface>) {
  const { drivers } = api.context;
  const connect: typeof drivers.connect = (node, about) => {
    const made = drivers.connect(node, about);
    return { ...made, management: { ...made.management, ...management } };
  };
  const watch = createHardwareWatch({ ...api.context, drivers: { ...drivers, connect } });
  return () => watch(new AbortController().signal);
}

test('a node that lacks an address stops no other, and is logged when that changes', async () => {
  const warn = vi.spyOn(api.context.log, 'warn');
  const watch = watchWith({ getSensors: () => Promise.resolve([reading('T', 20)]) });
  const { uuid, driverInfo } = await getNode(api.context.db, 'n1');
  const change = (driverInfo: JsonObject) => updateNode(api.context.db, uuid, { driverInfo });
  await change({});
  await watch();
  await watch();
  expect(await readings('sensorReadings')).toEqual([['fake', 'T', 20]]);
  expect(warn.mock.calls).toEqual([[expect.objectContaining({ node: uuid }), 'hardware not read']]);
  await change(driverInfo);
  await watch();
  expect(await readings('sensorReadings')).toHaveLength(2);
  await change({});
  await watch();
  expect(warn).toHaveBeenCalledTimes(2);
  warn.mockRestore();
  await change(driverInfo);
});

const reading = (name: string, value: number): SensorReading => ({
  name,
  kind: 'temperature',
  value,
  unit: 'Cel',
  health: 'ok',
});

test('of too many sensors the same nodes are left out, whichever answer first, and the others stay', async () => {
  const blank = { ...reading('blank', 0), value: null, health: null };
  const many = [reading('T', 20), ...Array.from({ length: 30_000 }, () => blank)];
  const found: [string, SensorReading[]][] = [
    ['a', many],
    ['b', many],
    ['c', [reading('T', 20)]],
  ];
  for (const round of [found, found.toReversed()]) {
    setMetrics(api.context, new Map(round));
    expect(await readings('sensorReadings')).toEqual([
      ['a', 'T', 20],
      ['c', 'T', 20],
    ]);
  }
});

test('of sensors that are called alike, the worst health counts', async () => {
  const critical = { ...reading('PSU', 0), health: 'critical' } as const;
  setMetrics(api.context, new Map([['a', [reading('PSU', 20), critical, reading('PSU', 30)]]]));
  expect(await readings('sensorHealth')).toEqual([['a', 'PSU', 2]]);
});

test('an event log that fills every round leaves the rest of the history alone', async () => {
  const before = (await api.call('GET', '/v1/nodes/n1/history?detail=true')).body['history'] as {
    event_type: string;
  }[];
  const rest = before.filter((each) => each.event_type !== 'hardware');
  const { uuid } = await getNode(api.context.db, 'n1');
  const entries: LogEntry[] = [];
  const noise = watchWith({ getEventLog: () => Promise.resolve(entries) });
  for (let round = 0; round < 16; round += 1) {
    entries.push(...Array.from({ length: 20 }, (_, index) => entry(round, `Noise\u0000 ${round}/${index}.`)));
    await noise();
  }
  const all = await listHistory(api.context.db, uuid);
  const hardware = all.filter((each) => each.eventType === 'hardware');
  const noisy = hardware.filter(({ severity }) => severity === 'INFO');
  expect([noisy.length, all.length - hardware.length]).toEqual([50, rest.length]);
  expect(rest.length).toBeGreaterThan(0);
  expect(hardware[0]?.event).toContain('Noise\uFFFD 15/19.');
});

test('noise in an event log hides no critical entry, neither one before it nor one of long ago', async () => {
  const { uuid } = await getNode(api.context.db, 'n1');
  const failure = (round: number): LogEntry => ({ ...entry(round, `PSU ${round} failed.`), severity: 'critical' });
  const entries: LogEntry[] = [];
  const noise = watchWith({ getEventLog: () => Promise.resolve(entries) });
  for (const round of [20, 21, 22, 23, 24]) {
    entries.push(failure(round), ...Array.from({ length: 25 }, (_, index) => entry(round, `Noise ${round}/${index}.`)));
    await noise();
  }
  const hardware = (await listHistory(api.context.db, uuid)).filter((each) => each.eventType === 'hardware');
  const critical = hardware.filter(({ severity }) => severity === 'ERROR').map(({ event }) => event);
  expect(critical.slice(0, 5).map((event) => event.replace(/^.* PSU/, 'PSU'))).toEqual(
    [24, 23, 22, 21, 20].map((round) => `PSU ${round} failed.`),
  );
  expect(hardware.length - critical.length).toBe(50);
});

const entry = (second: number, message = 'Fan 1 failed.'): LogEntry => ({
  at: `2026-11-24T18:00:${String(second).padStart(2, '0')}.000Z`,
  severity: 'warning',
  message,
});
const known = 'event log 2026-11-24T18:00:10.000Z: warning: Fan 1 failed.';

test.each<[string, readonly LogEntry[], string | undefined, readonly LogEntry[]]>([
  ['never read', [entry(1), entry(2)], undefined, [entry(2)]],
  ['nothing new', [entry(9), entry(10)], known, []],
  ['after the last known', [entry(10), entry(8), entry(11)], known, [entry(8), entry(11)]],
  ['cleared since', [entry(3), entry(12)], known, [entry(12)]],
  ['without times', [{ ...entry(1), at: null }], known, [{ ...entry(1), at: null }]],
  [
    'too many',
    [entry(10), ...Array.from({ length: 30 }, (_, index) => entry(11 + index))],
    known,
    Array.from({ length: 20 }, (_, index) => entry(21 + index)),
  ],
])('what is new in a log: %s', (_, entries, last, expected) => {
  expect(newEntries(entries, last)).toEqual(expected);
});
