import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { type FoundVlans, isIsolated, isolated, portVlans, vlansIn } from '#conductor/model/port-vlans.ts';
import { findSwitchDriver, switchOperatingSystems } from '#conductor/networks/switches/index.ts';
import { iosXe } from '#conductor/networks/switches/os/ios-xe.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { type Recording, readRecordings } from '#test/recorded/read-recordings.ts';
import { startEosSwitch } from '#test/simulators/switch/eos.ts';
import { startJunosSwitch } from '#test/simulators/switch/junos.ts';
import { startProgramSwitch } from '#test/simulators/switch/program-switch.ts';
import type { SwitchServer } from '#test/simulators/switch/switch-server.ts';
import { startTextSwitch } from '#test/simulators/switch/text-switch.ts';
import { textSystems } from '#test/simulators/switch/text-systems.ts';
import { accessTo } from '#test/simulators/switch/under-test.ts';

/** Switches that begin as they were recorded: the driver reads over SSH what the recording says, and isolates each port, or refuses. */

const Vlans = z.union([z.string(), z.number(), z.object({ native: z.number().optional(), tagged: z.coerce.string() })]);
const Reading = z.object({ ports: z.record(z.string(), Vlans) });
type Switch = Recording<z.infer<typeof Reading>>;

const bare = (text: string): string[] => text.split('\n').flatMap((line) => /^set (.+?)\s*$/.exec(line)?.[1] ?? []);

const starts: Readonly<Record<string, (recording: Switch) => Promise<SwitchServer>>> = {
  eos: ({ outputs }) => startEosSwitch({ ports: [], vlans: [1], recorded: outputs }),
  junos: ({ outputs }) => {
    const [terse = '', inherited = '', vlans = '', own = '', options = ''] = Object.values(outputs);
    const mine = bare(own);
    return startJunosSwitch(
      [...terse.matchAll(/^([a-z]+-?[\d/:]+)\s/gm)].map((match) => match[1] ?? ''),
      {
        running: [...mine, ...bare(vlans), ...bare(options)],
        inherited: bare(inherited).filter((line) => !mine.includes(line)),
        recorded: outputs,
      },
    );
  },
  cumulus: ({ outputs }) => {
    const shown = JSON.parse(outputs['nv show interface -o json'] ?? '') as object;
    const parts = JSON.parse(outputs['nv config show -o json'] ?? '') as { set?: object }[];
    return startProgramSwitch({
      ports: Object.keys(shown),
      shown,
      pending: null,
      applied: { interface: {}, ...parts.find(({ set }) => set)?.set },
    });
  },
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

const recordings = (await readRecordings('switches', Reading)).filter(({ name }) => starts[name.split('/')[0] ?? '']);

test.each(recordings.map((each) => [each.name, each] as const))('%s', async (name, recording) => {
  const [system = ''] = name.split('/');
  const simulated = await starts[system]?.(recording);
  if (!simulated) throw new Error(`no simulator of ${system}`);
  const driver = findSwitchDriver(system);
  const connection = driver.connect({ ...accessTo(simulated), bondNumbers: { from: 3000, to: 3000 } });
  onTestFinished(async () => {
    await connection.close();
    await simulated.stop();
  });
  const os = switchOperatingSystems.find((each) => each.name === system);
  const ports = Object.keys(recording.reading.ports).filter((portId) => os?.portId.test(portId));
  expect(ports).not.toEqual([]);
  const states = await connection.readPorts(ports);
  expect(states.map(({ portId, vlans }) => [portId, vlans])).toEqual(
    ports.map((portId) => [portId, vlansOf(recording.reading.ports[portId] ?? 'other')]),
  );
  for (const portId of ports) {
    const refusal = await connection.apply([{ portId, vlans: isolated }]).then(() => undefined, errorChain);
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
  const [system] = textSystems.filter(({ name }) => name === iosXe.name);
  const isl = recordings.find(({ name }) => name === 'ios-xe/isl-capable');
  if (!system || !isl) throw new Error('no such recording');
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
