import { afterEach, describe, expect, test } from 'vitest';
import { isolated, portVlans } from '#conductor/model/port-vlans.ts';
import type { SwitchConnection } from '#conductor/networks/switch-driver.ts';
import { findSwitchDriver } from '#conductor/networks/switches/index.ts';
import { type SwitchUnderTest, testSwitchDriver } from '#conductor/networks/switches/switch.contract.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { startJunosNetconf } from '#test/simulators/switch/junos.ts';
import { startOpenconfigSwitch } from '#test/simulators/switch/openconfig.ts';
import type { ServedSwitch } from '#test/simulators/switch/switch-server.ts';
import { cutsOf, split } from '#test/simulators/switch/under-test.ts';

const junosPorts = [...Array.from({ length: 47 }, (_, index) => `ge-0/0/${index}`), 'ae48'];
const openconfigPorts = [...Array.from({ length: 47 }, (_, index) => `Ethernet${index + 1}`), 'Port-Channel48'];

const startJunos = async (): Promise<SwitchUnderTest> => {
  const simulated = await startJunosNetconf(junosPorts);
  return {
    driver: findSwitchDriver('junos'),
    access: simulated.access,
    ...split(junosPorts),
    setByHand: async (port, vlan) => {
      const switching = `interfaces ${port} unit 0 family ethernet-switching`;
      simulated.configure(
        `delete ${switching}`,
        `set ${switching} interface-mode access`,
        `set ${switching} vlan members ${vlan}`,
      );
    },
    cutAt: cutsOf(simulated),
    deadEndpoint: 'netconf:127.0.0.1:1',
    stop: () => simulated.stop(),
  };
};
testSwitchDriver('junos over NETCONF', startJunos, { modes: ['lacp', 'static'], pairs: ['lacp'] });

testSwitchDriver(
  'openconfig',
  async () => {
    const simulated = await startOpenconfigSwitch(openconfigPorts);
    return {
      driver: findSwitchDriver('openconfig'),
      access: simulated.access,
      ...split(openconfigPorts),
      setByHand: async (port, vlan) => simulated.configure(port, vlan),
      cutAt: cutsOf(simulated),
      deadEndpoint: 'netconf:127.0.0.1:1',
      stop: () => simulated.stop(),
    };
  },
  { modes: ['lacp', 'static'], pairs: [] },
);

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});
const kept = async <Switch extends ServedSwitch>(starting: Promise<Switch>): Promise<Switch> => {
  const simulated = await starting;
  stops.push(() => simulated.stop());
  return simulated;
};
const connect = (driver: string, { access }: ServedSwitch): SwitchConnection => {
  const connection = findSwitchDriver(driver).connect(access);
  stops.push(() => connection.close());
  return connection;
};
const failure = (call: Promise<unknown>) =>
  call.then(
    () => ({ message: 'nothing failed', code: '', retryable: false }),
    (error: unknown) => ({ ...(error as object), message: errorChain(error) }),
  );

describe('Junos', () => {
  test('somebody else’s lock is told with the switch’s words, and tried again', async () => {
    const simulated = await kept(startJunosNetconf(junosPorts));
    const connection = connect('junos', simulated);
    await connection.readPorts(['ge-0/0/1']);
    simulated.state.holder = { prompt: () => '', execute: () => '' };
    const error = await failure(connection.apply([{ portId: 'ge-0/0/1', vlans: portVlans(100) }]));
    expect(error).toMatchObject({ code: 'busy', retryable: true });
    expect(error.message).toContain('refused lock: lock-denied: configuration database locked by:');
    simulated.state.holder = undefined;
    await connection.apply([{ portId: 'ge-0/0/1', vlans: portVlans(100) }]);
  });

  test('sends all lines of a change in one request, and commits with a timer that another session ends', async () => {
    const simulated = await kept(startJunosNetconf(junosPorts));
    const connection = connect('junos', simulated);
    const portIds = junosPorts.slice(0, 12);
    await connection.apply(portIds.map((portId) => ({ portId, vlans: portVlans(100) })));
    expect(simulated.commands.filter((name) => name === 'load-configuration')).toHaveLength(1);
    expect(simulated.commands.filter((name) => name === 'commit-configuration')).toHaveLength(2);
    expect(simulated.logins).toMatchObject({ ever: 2, most: 2 });
    expect(simulated.state.confirming).toBeUndefined();
  });
});

describe('OpenConfig', () => {
  test('a switch that can’t take a change back by itself is refused before anything is sent', async () => {
    const simulated = await kept(startOpenconfigSwitch(openconfigPorts, ['candidate:1.0']));
    const error = await failure(connect('openconfig', simulated).readPorts(['Ethernet1']));
    expect(error).toMatchObject({ code: 'not_supported', retryable: false });
    expect(error.message).toContain('lacks NETCONF’s confirmed-commit:1.1'.replace('’', "'"));
    expect(simulated.commands).toEqual([]);
  });

  test('a confirmed commit of a conductor that was lost is taken back by the next one', async () => {
    const simulated = await kept(startOpenconfigSwitch(openconfigPorts));
    const { state } = simulated;
    const before = state.running;
    state.running = structuredClone(before);
    simulated.configure('Ethernet1', 100);
    state.confirming = { persist: 'baton', before, timeout: setTimeout(() => undefined, 60_000) };
    expect(await connect('openconfig', simulated).readPorts(['Ethernet1'])).toEqual([
      { portId: 'Ethernet1', vlans: 'other' },
    ]);
    expect(state.running).toBe(before);
  });

  test('a port that is disabled without VLANs is isolated; one that carries all is not', async () => {
    const simulated = await kept(startOpenconfigSwitch(openconfigPorts));
    const connection = connect('openconfig', simulated);
    await connection.apply([{ portId: 'Ethernet1', vlans: isolated }]);
    expect(simulated.state.running.ports.get('Ethernet1')).toEqual({ isEnabled: false, switched: '' });
    expect(await connection.readPorts(['Ethernet1', 'Ethernet2'])).toMatchObject([
      { vlans: isolated },
      { vlans: 'other' },
    ]);
  });
});
