import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { type FoundVlans, isIsolated, isolated, portVlans, sameVlans, vlansIn } from '#conductor/model/port-vlans.ts';
import { findSwitchDriver, switchOperatingSystems } from '#conductor/networks/switches/index.ts';
import { iosXe } from '#conductor/networks/switches/os/ios-xe.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { type Recording, readRecordings } from '#test/recorded/read-recordings.ts';
import { startRecordedAosCx } from '#test/simulators/switch/aos-cx-api.ts';
import { startEosApi, startEosSwitch } from '#test/simulators/switch/eos.ts';
import { startJunosNetconf, startJunosSwitch } from '#test/simulators/switch/junos.ts';
import { startNvueSwitch } from '#test/simulators/switch/nvue-api.ts';
import { startRecordedOpenconfig } from '#test/simulators/switch/openconfig.ts';
import { recordedLinux, startProgramSwitch } from '#test/simulators/switch/program-switch.ts';
import type { ServedSwitch } from '#test/simulators/switch/switch-server.ts';
import { startNxApi, startTextSwitch } from '#test/simulators/switch/text-switch.ts';
import { textSystems } from '#test/simulators/switch/text-systems.ts';
import { accessTo } from '#test/simulators/switch/under-test.ts';

/** Switches that begin as they were recorded: the driver reads over SSH what the recording says, and isolates each port, or refuses. */

const Vlans = z.union([z.string(), z.number(), z.object({ native: z.number().optional(), tagged: z.coerce.string() })]);
const Reading = z.object({ ports: z.record(z.string(), Vlans) });
type Switch = Recording<z.infer<typeof Reading>>;

const bare = (text: string): string[] => text.split('\n').flatMap((line) => /^set (.+?)\s*$/.exec(line)?.[1] ?? []);

function nvueOf({ outputs }: Switch) {
  const shown = JSON.parse(outputs['nv show interface -o json'] ?? '') as object;
  const parts = JSON.parse(outputs['nv config show -o json'] ?? '') as { set?: object }[];
  const { set } = parts.find((part) => part.set) ?? {};
  return { ports: Object.keys(shown), shown, applied: { interface: {}, ...set } };
}

function junosOf({ outputs }: Switch): Parameters<typeof startJunosSwitch> {
  const [terse = '', inherited = '', vlans = '', own = '', options = ''] = Object.values(outputs);
  const mine = bare(own);
  return [
    [...terse.matchAll(/^([a-z][\w/:-]*)\s/gm)].map((match) => match[1] ?? ''),
    {
      running: [...mine, ...bare(vlans), ...bare(options)],
      inherited: bare(inherited).filter((line) => !mine.includes(line)),
      recorded: outputs,
    },
  ];
}

function systemOf(name: string) {
  const [system] = textSystems.filter((each) => each.name === name);
  if (!system) throw new Error(`no simulator of ${name}`);
  return system;
}

/** Tells recordings of the REST API of AOS-CX from those of its command line. */
const isOfRest = ({ outputs }: Switch): boolean => Object.keys(outputs).some((name) => name.startsWith('GET '));

const starts: Readonly<Record<string, (recording: Switch) => Promise<ServedSwitch>>> = {
  'eos over HTTPS': ({ outputs }) => startEosApi({ ports: [], vlans: [1], recorded: outputs }),
  'nxos over HTTPS': ({ outputs }) => startNxApi(systemOf('nxos'), outputs),
  eos: ({ outputs }) => startEosSwitch({ ports: [], vlans: [1], recorded: outputs }),
  junos: (recording) => startJunosSwitch(...junosOf(recording)),
  'junos over NETCONF': (recording) => startJunosNetconf(...junosOf(recording)),
  'aos-cx over HTTPS': ({ outputs }) => startRecordedAosCx(outputs),
  cumulus: (recording) => startProgramSwitch({ pending: null, ...nvueOf(recording) }),
  'cumulus over HTTPS': (recording) => startNvueSwitch(nvueOf(recording)),
  openconfig: ({ outputs }) => startRecordedOpenconfig(outputs),
  linux: ({ outputs }) =>
    startProgramSwitch(
      recordedLinux(JSON.parse(outputs['ip -j -d link show'] ?? ''), JSON.parse(outputs['bridge -j vlan show'] ?? '')),
    ),
  sonic: ({ outputs }) =>
    startProgramSwitch({
      PORT: {},
      PORTCHANNEL: {},
      VLAN: {},
      VLAN_MEMBER: {},
      ...(JSON.parse(outputs['sonic-cfggen -d --print-data'] ?? '') as object),
    }),
  ...Object.fromEntries(
    textSystems.map((system) => [system.name, ({ outputs }: Switch) => startTextSwitch(system, [1], outputs)]),
  ),
};

function vlansOf(reading: z.infer<typeof Vlans>): FoundVlans {
  if (typeof reading === 'number') return portVlans(reading);
  if (typeof reading === 'object') return portVlans(reading.native, vlansIn(reading.tagged));
  return reading === 'isolated' ? isolated : 'other';
}

const recordings = await readRecordings('switches', Reading);
const cases = Object.entries(starts).flatMap(([label, start]) => {
  const [system = ''] = label.split(' ');
  const its = recordings
    .filter(({ name }) => name.startsWith(`${system}/`))
    .filter((each) => isOfRest(each) === (label === 'aos-cx over HTTPS'));
  return its.map((recording) => [`${label}: ${recording.name}`, system, start, recording] as const);
});

test('each system begins with what was recorded of it', () => {
  const systems = new Set(recordings.map(({ name }) => name.split('/')[0] ?? ''));
  systems.delete('ovs');
  expect(new Set(cases.map(([, system]) => system))).toEqual(systems);
});

test.each(cases)('%s', async (_, system, start, recording) => {
  const simulated = await start(recording);
  const driver = findSwitchDriver(system);
  const bondNumbers = { from: 3000, to: 3000 };
  const connection = driver.connect({ ...simulated.access, bondNumbers, createVlans: true });
  onTestFinished(async () => {
    await connection.close();
    await simulated.stop();
  });
  const os = switchOperatingSystems.find((each) => each.name === system);
  const ports = Object.keys(recording.reading.ports).filter((portId) => os?.portId.test(portId));
  expect(ports).not.toEqual([]);
  const read = async () => (await connection.readPorts(ports)).map(({ portId, vlans }) => [portId, vlans] as const);
  const before = await read();
  expect(before).toEqual(ports.map((portId) => [portId, vlansOf(recording.reading.ports[portId] ?? 'other')]));
  const set = (portId: string, vlans: FoundVlans) =>
    vlans === 'other' ? undefined : connection.apply([{ portId, vlans }]).then(() => undefined, errorChain);
  // one that is read as what Baton sets moves there and back, and nothing else does
  const [mover] = before.find(([, vlans]) => vlans !== 'other') ?? [];
  const others = (its: typeof before) => its.filter(([portId]) => portId !== mover);
  for (const vlans of mover === undefined ? [] : [portVlans(100), isolated]) {
    const refusal = await set(mover ?? '', vlans);
    const now = await read();
    const found = now.find(([portId]) => portId === mover)?.[1];
    // one that can't join a network is named
    const isRight = refusal === undefined ? sameVlans(found, vlans) : refusal.includes(mover ?? '');
    expect([refusal, isRight, others(now)]).toEqual([refusal, true, others(before)]);
    if (refusal !== undefined) break;
  }
  for (const portId of ports) {
    const refusal = await set(portId, isolated);
    const [now] = await connection.readPorts([portId]);
    // what is refused names the port
    const isRefused = refusal?.includes(portId) === true;
    expect([portId, refusal, isRefused || isIsolated(now?.vlans ?? 'other')]).toEqual([
      portId,
      isRefused ? refusal : undefined,
      true,
    ]);
  }
});

test('a switch that knows ISL gets the encapsulation before the mode, for bonds that are made too; another never', async () => {
  const system = systemOf(iosXe.name);
  const isl = recordings.find(({ name }) => name === 'ios-xe/isl-capable');
  if (!isl) throw new Error('no such recording');
  const simulated = await startTextSwitch(system, [1, 100], isl.outputs);
  const bondNumbers = { from: 7, to: 7 };
  const connection = findSwitchDriver('ios-xe').connect({ ...accessTo(simulated), bondNumbers });
  onTestFinished(async () => {
    await connection.close();
    await simulated.stop();
  });
  const bond = { number: 7, mode: 'lacp', acrossPair: false } as const;
  const wanted = [1, 2].map((port) => ({ portId: `GigabitEthernet1/0/${port}`, vlans: portVlans(100, [200]), bond }));
  await connection.apply(wanted);
  expect(await connection.readPorts(wanted.map(({ portId }) => portId))).toEqual(wanted);
  expect(iosXe.isolate(['GigabitEthernet1/0/1']).join()).not.toContain('encapsulation');
});
