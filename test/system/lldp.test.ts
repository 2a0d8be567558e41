import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { listenForLldp } from '#agent/network/listen-lldp.ts';
import { parseLldp } from '#conductor/nodes/inspection/parse-lldp.ts';
import { systemClock } from '#shared/clock.ts';
import { silentLog } from '#shared/log.ts';
import { type Run, type RunningProcess, run, start } from '#shared/process/run.ts';
import type { LldpTlv } from '#shared/wire/inventory.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';
import { recordedTlvs } from '#test/recorded/recorded-lldp.ts';

/** LLDP over real cables: veth pairs in a namespace, the agent's ear at one end and a switch's mouth at the other. */

const namespace = `baton-lldp-${process.pid}`;
const inside: Run = (command, args, options) => run('ip', ['netns', 'exec', namespace, command, ...args], options);
const startInside: typeof start = (command, args, options) =>
  start('ip', ['netns', 'exec', namespace, command, ...args], options);
const heard = new Map<string, readonly LldpTlv[]>();
const listener = {
  run: inside,
  start: startInside,
  clock: systemClock,
  log: silentLog,
  wakesFirmware: true,
  onHeard: (nic: string, tlvs: readonly LldpTlv[]) => void heard.set(nic, tlvs),
};
const nic = (name: string) => ({ name, driver: null });
const switches: RunningProcess[] = [];
const script = join(import.meta.dirname, 'ethernet-frame.py');
const recordings = await readRecordings('lldp', z.looseObject({ card: z.string().optional() }));

beforeAll(async () => {
  await run('ip', ['netns', 'add', namespace]);
  for (const cable of ['a', 'b', 'c', 'd']) {
    await inside('ip', ['link', 'add', `nic${cable}`, 'type', 'veth', 'peer', 'name', `sw${cable}`]);
    await inside('ip', ['link', 'set', `nic${cable}`, 'up']);
    await inside('ip', ['link', 'set', `sw${cable}`, 'up']);
  }
  for (const name of ['swa', 'swb']) switches.push(startInside('python3', [script, 'lldp', name]));
});
afterAll(async () => {
  for (const each of switches) each.kill('SIGKILL');
  await Promise.all(switches.map((each) => each.exited));
  await run('ip', ['netns', 'delete', namespace]);
});

beforeEach(() => heard.clear());

const links = async () =>
  (JSON.parse((await inside('ip', ['-json', 'link', 'show', 'type', 'macvtap'])).stdout) as unknown[]).length;

test('each NIC hears its own switch port, among other frames, and nothing is left behind', async () => {
  const signal = new AbortController().signal;
  await listenForLldp([nic('nica'), nic('nicb')], 120_000, { ...listener, signal });
  expect(Object.fromEntries([...heard].map(([name, tlvs]) => [name, parseLldp(tlvs)]))).toEqual({
    nica: { switch_chassis_id: '00:11:22:33:44:55', switch_port_id: 'swa', switch_system_name: 'test-switch' },
    nicb: { switch_chassis_id: '00:11:22:33:44:55', switch_port_id: 'swb', switch_system_name: 'test-switch' },
  });
  expect(await links()).toBe(0);
});

test('a silent switch and a missing NIC cost the time-out, and nothing else', async () => {
  const signal = new AbortController().signal;
  await listenForLldp([nic('nicc'), nic('nica'), nic('missing')], 15_000, { ...listener, signal });
  expect([...heard.keys()]).toEqual(['nica']);
  expect(await links()).toBe(0);
});

test.each(recordings)('what was recorded is heard as it was: $name', async ({ outputs, reading }) => {
  const tlvs = recordedTlvs(outputs, reading.card);
  const mouth = startInside('python3', [script, 'lldp', 'swd', ...tlvs.map(([type, value]) => `${type}:${value}`)]);
  try {
    await listenForLldp([nic('nicd')], 120_000, { ...listener, signal: new AbortController().signal });
  } finally {
    mouth.kill('SIGKILL');
    await mouth.exited;
  }
  expect(heard.get('nicd')).toEqual(tlvs);
});

test('it ends with the agent', async () => {
  const stop = new AbortController();
  const listening = listenForLldp([nic('nicc')], 60_000, { ...listener, signal: stop.signal });
  await expect.poll(links).toBe(1);
  stop.abort(new Error('stopped'));
  await listening;
  expect(heard).toEqual(new Map());
  expect(await links()).toBe(0);
});
