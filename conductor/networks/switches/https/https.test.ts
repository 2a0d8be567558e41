import { afterEach, describe, expect, test } from 'vitest';
import { portVlans } from '#conductor/model/port-vlans.ts';
import type { BondAbilities, SwitchAccess, SwitchConnection } from '#conductor/networks/switch-driver.ts';
import { nxApi } from '#conductor/networks/switches/https/nx-api.ts';
import { findSwitchDriver } from '#conductor/networks/switches/index.ts';
import { type SwitchUnderTest, testSwitchDriver } from '#conductor/networks/switches/switch.contract.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { startAosCxApi } from '#test/simulators/switch/aos-cx-api.ts';
import { startEosApi } from '#test/simulators/switch/eos.ts';
import type { HttpsSwitch } from '#test/simulators/switch/https-server.ts';
import { startNvueSwitch } from '#test/simulators/switch/nvue-api.ts';
import { freshCumulus } from '#test/simulators/switch/program-switch.ts';
import { startNxApi } from '#test/simulators/switch/text-switch.ts';
import { textSystems } from '#test/simulators/switch/text-systems.ts';
import { cutsOf, split } from '#test/simulators/switch/under-test.ts';

const ports48 = (form: (number: number) => string, bond: string) => [
  ...Array.from({ length: 47 }, (_, index) => form(index + 1)),
  bond,
];
const eosPorts = ports48((number) => `Ethernet${number}`, 'Port-Channel48');
const cumulusPorts = ports48((number) => `swp${number}`, 'bond48');
const aosCxPorts = ports48((number) => `1/1/${number}`, 'lag48');
const nxos = textSystems.find(({ name }) => name === 'nxos') ?? textSystems[0];
if (!nxos) throw new Error('no systems');

function testApi<Switch extends HttpsSwitch>(
  name: string,
  ports: readonly string[],
  start: () => Promise<Switch>,
  setByHand: (simulated: Switch, port: string, vlan: number) => void,
  bonds: BondAbilities,
): void {
  const start48 = async (): Promise<SwitchUnderTest> => {
    const simulated = await start();
    return {
      driver: findSwitchDriver(name),
      access: simulated.access,
      ...split(ports),
      setByHand: async (port, vlan) => setByHand(simulated, port, vlan),
      cutAt: cutsOf(simulated),
      deadEndpoint: 'https:127.0.0.1:1',
      stop: () => simulated.stop(),
    };
  };
  testSwitchDriver(`${name} over HTTPS`, start48, bonds);
}

const bothModes: BondAbilities = { modes: ['lacp', 'static'], pairs: ['lacp', 'static'] };

testApi(
  'eos',
  eosPorts,
  () => startEosApi({ ports: eosPorts, vlans: [1] }),
  (simulated, port, vlan) =>
    simulated.configure(`interface ${port}`, 'switchport mode access', `switchport access vlan ${vlan}`),
  bothModes,
);
testApi(
  'nxos',
  ports48(nxos.port, nxos.port(48)),
  () => startNxApi(nxos),
  (simulated, port, vlan) => simulated.configure(`interface ${port}`, ...nxos.byHand(vlan)),
  bothModes,
);
testApi(
  'cumulus',
  cumulusPorts,
  () => startNvueSwitch(freshCumulus(cumulusPorts)),
  ({ state }, port, vlan) => {
    const interfaces = state.applied['interface'] as Record<string, object>;
    interfaces[port] = { bridge: { domain: { br_default: { access: vlan } } } };
  },
  bothModes,
);
testApi(
  'aos-cx',
  aosCxPorts,
  async () => {
    const simulated = await startAosCxApi(aosCxPorts);
    // of all VLANs
    const trunk = { vlan_mode: 'native-untagged', vlan_tag: { 1: '/rest/v10.04/system/vlans/1' } };
    for (const port of simulated.state.ports.values()) Object.assign(port, trunk);
    return simulated;
  },
  ({ state }, port, vlan) => {
    const found = state.ports.get(port);
    if (!found) throw new Error(`no port ${port}`);
    const tag = { [vlan]: `/rest/v10.04/system/vlans/${vlan}` };
    Object.assign(found, { routing: false, vlan_mode: 'access', vlan_tag: tag, vlan_trunks: {} });
  },
  bothModes,
);

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});
const kept = async <Switch extends HttpsSwitch>(starting: Promise<Switch>): Promise<Switch> => {
  const simulated = await starting;
  stops.push(() => simulated.stop());
  return simulated;
};
const connect = (driver: string, access: SwitchAccess): SwitchConnection => {
  const connection = findSwitchDriver(driver).connect(access);
  stops.push(() => connection.close());
  return connection;
};
const login = ({ access }: HttpsSwitch, changes: object): SwitchAccess => {
  if (!access.login) throw new Error('no login');
  return { ...access, login: { ...access.login, ...changes } };
};
const failure = (call: Promise<unknown>) =>
  call.then(
    () => ({ message: 'nothing failed', retryable: false }),
    (error: unknown) => ({ ...(error as object), message: errorChain(error) }),
  );
const startEos = () => kept(startEosApi({ ports: ['Ethernet1', 'Ethernet2'], vlans: [1, 100] }));
const toVlan100 = [{ portId: 'Ethernet1', vlans: portVlans(100) }];

describe('the certificate', () => {
  test('that nobody vouches for: nothing is sent, and the error says what to compare and to write', async () => {
    const eos = await startEos();
    const { message } = await failure(connect('eos', login(eos, { certificate: undefined })).readPorts(['Ethernet1']));
    expect(message).toContain('which no known authority vouches for');
    expect(message).toContain(`write certificate: ${eos.certificate}`);
    expect(eos.commands).toEqual([]);
  });

  test('other than the pinned one is refused, with both', async () => {
    const eos = await startEos();
    const other = Array.from({ length: 32 }, () => 'AA').join(':');
    const { message } = await failure(connect('eos', login(eos, { certificate: other })).readPorts(['Ethernet1']));
    expect(message).toContain(`the networks file has ${other}: nothing was sent`);
    expect(eos.commands).toEqual([]);
  });

  test('that a named authority has signed needs no pin', async () => {
    const eos = await startEos();
    const access = login(eos, { certificate: undefined, certificateAuthority: async () => eos.ca });
    expect(await connect('eos', access).readPorts(['Ethernet1'])).toHaveLength(1);
  });

  test('may be pinned without colons and in small letters', async () => {
    const eos = await startEos();
    const access = login(eos, { certificate: eos.certificate.replaceAll(':', '').toLowerCase() });
    expect(await connect('eos', access).readPorts(['Ethernet1'])).toHaveLength(1);
  });
});

test.each(['eos', 'aos-cx'])('%s: a wrong password is not tried again by itself, nor shown', async (driver) => {
  const simulated = await (driver === 'eos' ? startEos() : kept(startAosCxApi(['1/1/1'])));
  const wrong = connect(driver, login(simulated, { password: async () => 'hunter22' }));
  const error = await failure(wrong.readPorts([driver === 'eos' ? 'Ethernet1' : '1/1/1']));
  expect(error).toMatchObject({ code: 'switch_error', retryable: false });
  expect(error.message).toContain('refused the login of baton (HTTP 401)');
  expect(error.message).not.toContain('hunter22');
});

describe('eAPI', () => {
  test('a change that is not confirmed before the switch restarts is gone with it, and made again', async () => {
    const eos = await startEos();
    const connection = connect('eos', eos.access);
    await connection.apply([{ portId: 'Ethernet1', vlans: portVlans(undefined) }]);
    // left behind, read ports, session and diff, commit: then read back over another connection
    eos.faults.cutAt = { command: 4, done: true };
    const moved = failure(connection.apply(toVlan100));
    await expect.poll(() => eos.faults.cutAt).toBeUndefined();
    eos.reboot();
    expect(await moved).toMatchObject({ retryable: true });
    expect(eos.state.running.get('interface Ethernet1')?.get('switchport mode')).toBe('switchport mode trunk');
    await connection.apply(toVlan100);
    expect(await connection.readPorts(['Ethernet1'])).toEqual(toVlan100);
  });

  test('is confirmed over another connection', async () => {
    const eos = await startEos();
    const connection = connect('eos', eos.access);
    await connection.readPorts(['Ethernet1']);
    const before = eos.connections.ever;
    await connection.apply(toVlan100);
    expect(eos.connections.ever).toBe(before + 1);
    const confirmed = eos.commands.find((command) => / configure session baton-\w+ commit"/.test(command));
    expect(confirmed ?? eos.commands.join('\n')).toMatch(/configure session baton-\w+ commit"/);
  });

  test('a refused line is named with the switch’s words, and no session stays', async () => {
    const eos = await startEos();
    for (let index = 0; index < 5; index += 1) {
      eos.state.sessions.set(`other-${index}`, { config: eos.state.running, state: 'pending' });
    }
    const { message } = await failure(connect('eos', eos.access).apply(toVlan100));
    expect(message).toMatch(/refused configure session baton-\w+: Maximum number of pending sessions/);
    expect(eos.state.sessions.size).toBe(5);
  });
});

test('NX-API: a request that is refused half-way changes nothing', async () => {
  const simulated = await kept(startNxApi(nxos));
  const line = await nxApi(simulated.access, undefined);
  const lines = ['configure terminal', 'interface Ethernet1/1', 'switchport access vlan 100', 'switchport nonsense'];
  const { message } = await failure(line.run(lines));
  line.close();
  expect(message).toMatch(/refused switchport nonsense: .*Invalid command/s);
  expect(simulated.state.running.get('interface Ethernet1/1')?.has('switchport access vlan')).toBe(false);
});

describe('NVUE', () => {
  test('a revision that is not applied is told with the reason, and the ports stay', async () => {
    const simulated = await kept(startNvueSwitch(freshCumulus(['swp1', 'swp2'])));
    const connection = connect('cumulus', simulated.access);
    await connection.apply([{ portId: 'swp1', vlans: portVlans(undefined) }]);
    simulated.state.failure = 'VLAN 100 is reserved';
    const error = await failure(connection.apply([{ portId: 'swp1', vlans: portVlans(100) }]));
    expect(error.message).toMatch(
      /did not apply its revision changeset\/baton\/\d+: state invalid, .*VLAN 100 is reserved/,
    );
    simulated.state.failure = undefined;
    expect(await connection.readPorts(['swp1'])).toEqual([{ portId: 'swp1', vlans: portVlans(undefined) }]);
  });
});

describe('AOS-CX', () => {
  test('a model that routes at no port is read, and refused in words', async () => {
    const simulated = await kept(startAosCxApi(['1/1/1']));
    simulated.state.version = 'PL.10.08.0001';
    const connection = connect('aos-cx', simulated.access);
    const { message } = await failure(connection.apply([{ portId: '1/1/1', vlans: portVlans(undefined) }]));
    expect(message).toMatch(/port 1\/1\/1 of switch .* can't be set to isolated: AOS-CX on the 4100i, 6000 and 6100/);
    expect(simulated.state.ports.get('1/1/1')?.routing).toBe(false);
  });

  test('an address that nobody took away fails an isolation, and is named', async () => {
    const simulated = await kept(startAosCxApi(['1/1/1', '1/1/2']));
    const port = simulated.state.ports.get('1/1/1');
    if (port) port.below = { ip6_addresses: { '2001:db8::1/64': '/rest/v10.04/x' } };
    simulated.state.mirrors = { 1: { output_port: { '1/1/2': '/rest/v10.04/system/interfaces/1%2F1%2F2' } } };
    const connection = connect('aos-cx', simulated.access);
    const isolate = (portId: string) => failure(connection.apply([{ portId, vlans: portVlans(undefined) }]));
    expect((await isolate('1/1/1')).message).toContain('1/1/1 has "ip6_addresses');
    expect((await isolate('1/1/2')).message).toContain('1/1/2 has "mirror 1 output_port"');
  });

  test('ends its session, and has one at a time', async () => {
    const simulated = await kept(startAosCxApi(['1/1/1']));
    simulated.state.mostSessions = 1;
    const connection = findSwitchDriver('aos-cx').connect(simulated.access);
    await connection.apply([{ portId: '1/1/1', vlans: portVlans(100) }]);
    await connection.apply([{ portId: '1/1/1', vlans: portVlans(200) }]);
    expect(simulated.state.sessions.size).toBe(1);
    await connection.close();
    await expect.poll(() => simulated.state.sessions.size).toBe(0);
  });

  test('a switch without a session left is asked again later; one that has restarted is logged in to again', async () => {
    const simulated = await kept(startAosCxApi(['1/1/1']));
    const connection = connect('aos-cx', simulated.access);
    simulated.state.mostSessions = 0;
    expect(await failure(connection.readPorts(['1/1/1']))).toMatchObject({ code: 'unavailable', retryable: true });
    simulated.state.mostSessions = 6;
    await connection.apply([{ portId: '1/1/1', vlans: portVlans(100) }]);
    simulated.reboot();
    expect(await failure(connection.readPorts(['1/1/1']))).toMatchObject({ retryable: true });
    expect(await connection.readPorts(['1/1/1'])).toEqual([{ portId: '1/1/1', vlans: portVlans(100) }]);
  });
});
