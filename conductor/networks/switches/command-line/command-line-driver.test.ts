import { afterEach, describe, expect, test } from 'vitest';
import { isolated, portVlans } from '#conductor/model/port-vlans.ts';
import type { SwitchAccess, SwitchConnection } from '#conductor/networks/switch-driver.ts';
import { createSwitchRounds } from '#conductor/networks/switch-rounds.ts';
import { findSwitchDriver } from '#conductor/networks/switches/index.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { type EosSwitch, startEosSwitch } from '#test/simulators/switch/eos.ts';
import { freshLinux, startProgramSwitch } from '#test/simulators/switch/program-switch.ts';
import { accessTo } from '#test/simulators/switch/under-test.ts';

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

async function startEos(): Promise<{ eos: EosSwitch; connect: (changes?: Partial<SwitchAccess>) => SwitchConnection }> {
  const eos = await startEosSwitch({ ports: ['Ethernet1', 'Ethernet2'], vlans: [1, 100] });
  stops.push(() => eos.stop());
  const connect = (changes: Partial<SwitchAccess> = {}) => {
    const connection = findSwitchDriver('eos').connect({ ...accessTo(eos), ...changes });
    stops.push(() => connection.close());
    return connection;
  };
  return { eos, connect };
}

const toVlan100 = [{ portId: 'Ethernet1', vlans: portVlans(100) }];
const failure = (call: Promise<unknown>) =>
  call.then(
    () => ({ message: 'nothing failed', retryable: false }),
    (error: unknown) => ({ ...(error as object), message: errorChain(error) }),
  );

describe('logging in', () => {
  const login = (eos: EosSwitch, changes: object): Partial<SwitchAccess> => {
    const { login: right } = accessTo(eos);
    if (!right) throw new Error('no login');
    return { login: { ...right, ...changes } };
  };

  test('without a pinned host key nothing is sent, and the error says what to compare and to write', async () => {
    const { eos, connect } = await startEos();
    const { message } = await failure(connect(login(eos, { hostKey: undefined })).readPorts(['Ethernet1']));
    expect(message).toContain(`shows the host key ${eos.hostKey} and the networks file has none for it`);
    expect(message).toContain(`write host_key: ${eos.hostKey}`);
    expect(eos.logins.ever).toBe(0);
  });

  test('another host key than the pinned one is refused, with both', async () => {
    const { eos, connect } = await startEos();
    const other = `SHA256:${'a'.repeat(43)}`;
    const { message } = await failure(connect(login(eos, { hostKey: other })).readPorts(['Ethernet1']));
    expect(message).toContain(eos.hostKey);
    expect(message).toContain(`the networks file has ${other}: nothing was sent`);
    expect(eos.logins.ever).toBe(0);
  });

  test('a wrong password is not tried again by itself, nor shown', async () => {
    const { eos, connect } = await startEos();
    const wrong = connect(login(eos, { password: async () => 'hunter22' }));
    const error = await failure(wrong.readPorts(['Ethernet1']));
    expect(error).toMatchObject({ code: 'switch_error', retryable: false });
    expect(error.message).toContain('refused the login of baton');
    expect(error.message).not.toContain('hunter22');
  });

  test('two logins at a time are enough', async () => {
    const { eos, connect } = await startEos();
    eos.faults.maximumLogins = 2;
    const connection = connect();
    for (const vlan of [100, 200, 100]) await connection.apply([{ portId: 'Ethernet1', vlans: portVlans(vlan) }]);
    expect(eos.logins.most).toBe(2);
  });

  test('a switch that allows one is told so, and keeps what it had', async () => {
    const { eos, connect } = await startEos();
    eos.faults.maximumLogins = 1;
    const connection = connect();
    expect(await failure(connection.apply(toVlan100))).toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(
        /the second login, which confirms the change while the first is open: the switch must allow two at once of this account: .*hung up/,
      ),
    });
    await connection.close();
    expect(eos.state.running.get('interface Ethernet1') ?? []).not.toContain('switchport access vlan 100');
  });

  test('a switch that has no login left is asked again later', async () => {
    const { eos, connect } = await startEos();
    eos.faults.maximumLogins = 0;
    const connection = connect();
    expect(await failure(connection.readPorts(['Ethernet1']))).toMatchObject({ code: 'unavailable', retryable: true });
    eos.faults.maximumLogins = 2;
    expect(await connection.readPorts(['Ethernet1'])).toHaveLength(1);
  });
});

test.each([1, 7, 4096])(
  'understands a switch that writes %s bytes at a time, a log between them',
  async (chunkBytes) => {
    const { eos, connect } = await startEos();
    const connection = connect();
    await connection.readPorts(['Ethernet1']);
    eos.faults.chunkBytes = chunkBytes;
    await connection.apply(toVlan100);
    eos.faults.chatter = 'Nov 23 02:00:00 leaf1 Ebra: %LINEPROTO-5-UPDOWN: Line protocol on Interface Ethernet1\n';
    expect(await failure(connection.readPorts(['Ethernet1']))).toMatchObject({
      message: expect.stringContaining("the switch's answer is not what was asked for"),
    });
    eos.faults.chatter = '';
    expect(await connection.readPorts(['Ethernet1'])).toEqual([{ portId: 'Ethernet1', vlans: portVlans(100) }]);
  },
);

describe('a change', () => {
  test('needs its VLAN, and says so before it touches the port', async () => {
    const { eos, connect } = await startEos();
    const connection = connect({ createVlans: false });
    await connection.apply(toVlan100);
    const { message } = await failure(connection.apply([{ portId: 'Ethernet1', vlans: portVlans(200) }]));
    expect(message).toContain('has no VLAN 200: create it there, or give the switch create_vlans: true');
    expect(await connection.readPorts(['Ethernet1'])).toEqual([{ portId: 'Ethernet1', vlans: portVlans(100) }]);
    expect([...eos.state.running.keys()]).not.toContain('vlan 200');
  });

  test('is not done because the switch says so', async () => {
    const { eos, connect } = await startEos();
    eos.state.isDeaf = true;
    const { message } = await failure(connect().apply(toVlan100));
    expect(message).toContain('did not move Ethernet1');
    expect(eos.state.timer).toBeUndefined();
  });

  test('that nobody confirms is taken back by the switch', async () => {
    const { eos, connect } = await startEos();
    const connection = connect();
    await connection.readPorts(['Ethernet1']);
    eos.state.timerMs = 50;
    // the conductor is cut off by it: no login follows
    const inSession = ['configure session', 'interface', '5 lines', 'exit', 'end', 'diff', 'commit'].length + 4;
    eos.faults.cutAt = { command: inSession + 2, done: true };
    const moved = connection.apply(toVlan100);
    eos.faults.maximumLogins = 1;
    expect(await failure(moved)).toMatchObject({ retryable: true });
    await expect.poll(() => eos.state.timer).toBeUndefined();
    expect(eos.state.running.get('interface Ethernet1')?.get('switchport mode')).toBe('switchport mode trunk');
  });

  test('of a conductor that was lost is taken back by the next one', async () => {
    const { eos, connect } = await startEos();
    const before = eos.state.running;
    eos.state.running = new Map(before);
    const timeout = setTimeout(() => undefined, 60_000);
    eos.state.sessions.set('baton-01234567', { config: before, state: 'pendingCommitTimer' });
    eos.state.sessions.set('baton-89abcdef', { config: before, state: 'pending' });
    eos.state.sessions.set('somebody-else', { config: before, state: 'pending' });
    eos.state.timer = { name: 'baton-01234567', before, timeout };
    await connect().readPorts(['Ethernet1']);
    expect([...eos.state.sessions.keys()]).toEqual(['somebody-else']);
    expect(eos.state.running).toBe(before);
  });

  test('outlasts a restart, and what could not be saved is saved with the next call', async () => {
    const { eos, connect } = await startEos();
    const connection = connect();
    eos.state.saveFails = true;
    expect(await failure(connection.apply(toVlan100))).toMatchObject({
      code: 'switch_error',
      message: expect.stringMatching(/has changed and did not save that: its restart would undo it.*No space left/),
    });
    expect(await failure(connection.readPorts(['Ethernet1']))).toMatchObject({ code: 'switch_error' });
    eos.state.saveFails = false;
    await connection.readPorts(['Ethernet1']);
    eos.reboot();
    expect(await connection.readPorts(['Ethernet1'])).toEqual([{ portId: 'Ethernet1', vlans: portVlans(100) }]);
  });

  test('of a conductor that was lost before it saved is saved by the next one that wants it, once', async () => {
    const { eos, connect } = await startEos();
    eos.state.saveFails = true;
    await failure(connect().apply(toVlan100));
    eos.state.saveFails = false;
    const before = eos.commands.length;
    const connection = connect();
    const rounds = createSwitchRounds('leaf1', connection, (_switchId, signal, work) => work(signal));
    await rounds.move(toVlan100);
    await rounds.move(toVlan100);
    expect(eos.commands.slice(before).filter((command) => command === 'write memory')).toHaveLength(1);
    eos.reboot();
    expect(await connection.readPorts(['Ethernet1'])).toEqual([{ portId: 'Ethernet1', vlans: portVlans(100) }]);
  });

  test('outlasts a restart of a Linux switch, whose ports are set from the file', async () => {
    const linux = await startProgramSwitch(freshLinux(['swp1', 'swp1.5', 'swp2', 'swp3']));
    stops.push(() => linux.stop());
    const connection = findSwitchDriver('linux').connect(accessTo(linux));
    stops.push(() => connection.close());
    const portIds = ['swp1', 'swp1.5', 'swp2'];
    await connection.apply(portIds.map((portId) => ({ portId, vlans: portVlans(100) })));
    await connection.apply([{ portId: 'swp2', vlans: isolated }]);
    await connection.apply([{ portId: 'swp1', vlans: portVlans(200) }]);
    await linux.reboot('sh /var/lib/baton/ports.sh');
    expect((await connection.readPorts(portIds)).map(({ vlans }) => vlans)).toEqual([
      portVlans(200),
      portVlans(100),
      isolated,
    ]);
  });

  test('goes back with the credential of its beginning where the database is away, which it forgets', async () => {
    const linux = await startProgramSwitch(freshLinux(['swp1']));
    stops.push(() => linux.stop());
    const access = accessTo(linux);
    const { username = '', password = async () => '', hostKey } = access.login ?? {};
    const database = { answers: 1 };
    const credential = async () => {
      if (database.answers === 0) throw new AppError('unavailable', 'the database is away');
      database.answers -= 1;
      return { username, password: await password() };
    };
    const connection = findSwitchDriver('linux').connect({ ...access, login: { username: '', credential, hostKey } });
    stops.push(() => connection.close());
    await linux.shell('bridge vlan add dev swp1 vid 300 pvid untagged');
    linux.faults.cutAt = { command: 3, done: true };
    const error = await failure(connection.apply([{ portId: 'swp1', vlans: portVlans(100) }]));
    expect(error).toMatchObject({ code: 'unavailable', message: expect.stringMatching(/^switch \S+ hung up$/) });
    expect(await linux.read()).toMatchObject({ swp1: { vlans: { 300: ['PVID', 'Egress Untagged'] } } });
    await connection.close();
    expect(await failure(connection.readPorts(['swp1']))).toMatchObject({ message: 'the database is away' });
    database.answers = 1;
    expect(await connection.readPorts(['swp1'])).toEqual([{ portId: 'swp1', vlans: portVlans(300) }]);
  });

  test.each([
    ['', portVlans(200)],
    ['bridge vlan del dev swp1 vid 1-4094\nbridge vlan add dev swp1 vid 300 pvid untagged\n', portVlans(300)],
  ])('of a Linux switch keeps what an earlier version kept in ports.batch; ports.sh was %j', async (kept, vlans) => {
    const linux = await startProgramSwitch(freshLinux(['swp1', 'swp2', 'swp3']));
    stops.push(() => linux.stop());
    const connection = findSwitchDriver('linux').connect(accessTo(linux));
    stops.push(() => connection.close());
    const batch = ['swp1', 'swp2', 'swp3'].map(
      (port) =>
        `vlan del dev ${port} vid 1-4094\nlink set dev ${port} isolated off\nvlan add dev ${port} vid 200 pvid untagged\n`,
    );
    await linux.shell(`mkdir -p /var/lib/baton; cd /var/lib/baton
cat >ports.batch <<'END'\n${batch.join('')}END\n${kept && `cat >ports.sh <<'END'\n${kept}END`}`);
    await connection.apply([{ portId: 'swp2', vlans: portVlans(100) }]);
    const { stdout } = await linux.shell('cd /var/lib/baton; ls; grep -c " dev swp2 .*200" ports.sh');
    expect(stdout.split('\n')).toEqual(['ports.batch.old', 'ports.sh', '0', '']);
    await linux.reboot('sh /var/lib/baton/ports.sh');
    expect((await connection.readPorts(['swp1', 'swp2', 'swp3'])).map((state) => state.vlans)).toEqual([
      vlans,
      portVlans(100),
      portVlans(200),
    ]);
  });
});

test.each(['Ethernet1\nreload', 'Ethernet1;reload', 'Ethernet 1', '$(reboot)', "x'y"])(
  '%j never gets into a command',
  async (portId) => {
    const { eos, connect } = await startEos();
    const connection = connect();
    expect(await failure(connection.readPorts([portId]))).toMatchObject({ code: 'not_found' });
    expect(await failure(connection.apply([{ portId, vlans: isolated }]))).toMatchObject({ code: 'not_found' });
    expect(eos.commands.join('\n')).not.toContain(portId);
  },
);
