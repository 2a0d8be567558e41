import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { SwitchAccess, SwitchLogin } from '#conductor/networks/switch-driver.ts';
import { findSwitchDriver } from '#conductor/networks/switches/index.ts';
import { openNetconf } from '#conductor/networks/switches/netconf/netconf-session.ts';
import { testSwitchDriver } from '#conductor/networks/switches/switch.contract.ts';
import { run, start } from '#shared/process/run.ts';
import { startJunosNetconf } from '#test/simulators/switch/junos.ts';
import { startOpenconfigSwitch } from '#test/simulators/switch/openconfig.ts';
import { split } from '#test/simulators/switch/under-test.ts';
import { freePort } from '#test/support/free-port.ts';

/**
 * The `openconfig` driver on a real NETCONF server, yuma123's netconfd behind OpenSSH's, with the part of OpenConfig's models
 * that it sets (`test/simulators/switch/yang`); and an independent client, ncclient, on our simulated servers. Needs root.
 */

const ports = [...Array.from({ length: 47 }, (_, index) => `Ethernet${index + 1}`), 'Port-Channel48'];

const interfaces = (inside: string): string =>
  `<edit-config><target><candidate/></target><config><interfaces xmlns="http://openconfig.net/yang/interfaces">${inside}</interfaces></config></edit-config>`;

async function startNetconfd(): Promise<{
  access: SwitchAccess;
  edit: (inside: string) => Promise<void>;
  stop: () => Promise<void>;
}> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-netconfd-'));
  const at = (name: string): string => join(folder, name);
  for (const key of ['host', 'baton']) await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', at(key)]);
  const port = await freePort();
  const subsystem = `/usr/sbin/netconf-subsystem --ncxserver-sockname=${port}@${at('socket')}`;
  const config = [
    `ListenAddress 127.0.0.1:${port}`,
    `HostKey ${at('host')}`,
    `AuthorizedKeysFile ${at('baton.pub')}`,
    'PidFile none',
    'StrictModes no',
    'PasswordAuthentication no',
    `Subsystem netconf "${subsystem}"`,
  ];
  await writeFile(at('sshd_config'), `${config.join('\n')}\n`);
  const sshd = start('unshare', [
    '-m',
    'sh',
    '-ec',
    `mount -t tmpfs none /run; mkdir /run/sshd; exec /usr/sbin/sshd -D -e -f ${at('sshd_config')}`,
  ]);
  const yang = join(import.meta.dirname, '../simulators/switch/yang');
  const netconfd = start(
    '/usr/sbin/netconfd',
    [
      `--modpath=${yang}:/usr/share/yuma/modules`,
      '--module=openconfig-vlan',
      '--module=openconfig-network-instance',
      '--access-control=off',
      '--superuser=root',
      '--no-startup',
      '--target=candidate',
      `--ncxserver-sockname=${at('socket')}`,
      `--port=${port}`,
      `--home=${folder}`,
    ],
    // where it writes its backup
    { cwd: folder },
  );
  const processes = [sshd, netconfd];
  for (const each of processes) {
    each.stdout.resume();
    each.stderr.resume();
  }
  const stop = async (): Promise<void> => {
    for (const each of processes) each.kill('SIGTERM');
    await Promise.all(processes.map((each) => each.exited));
    await rm(folder, { recursive: true, force: true });
  };
  const { stdout } = await run('ssh-keygen', ['-lf', at('host.pub')]);
  const privateKey = await readFile(at('baton'), 'utf8');
  const login: SwitchLogin = { username: 'root', privateKey: async () => privateKey, hostKey: stdout.split(' ')[1] };
  const access: SwitchAccess = { endpoint: `netconf:127.0.0.1:${port}`, login, createVlans: true };
  const edit = async (inside: string): Promise<void> => {
    const session = await openNetconf(access, undefined);
    try {
      for (const operation of [interfaces(inside), '<commit/>']) await session.request(operation);
    } finally {
      session.close();
    }
  };
  for (let tries = 0; ; tries += 1) {
    try {
      await edit(ports.map((name) => portOf(name, '')).join(''));
      return { access, edit, stop };
    } catch (error) {
      if (tries < 100) await sleep(200);
      else {
        await stop();
        throw error;
      }
    }
  }
}

function portOf(name: string, inside: string): string {
  return `<interface><name>${name}</name><config><name>${name}</name><enabled>true</enabled></config>${inside}</interface>`;
}

testSwitchDriver(
  'openconfig on netconfd',
  async () => {
    const { access, edit, stop } = await startNetconfd();
    return {
      driver: findSwitchDriver('openconfig'),
      access,
      ...split(ports),
      setByHand: (port, vlan) =>
        edit(
          portOf(
            port,
            '<ethernet xmlns="http://openconfig.net/yang/interfaces/ethernet"><switched-vlan xmlns="http://openconfig.net/yang/vlan">' +
              '<config xmlns:nc="urn:ietf:params:xml:ns:netconf:base:1.0" nc:operation="replace">' +
              `<interface-mode>ACCESS</interface-mode><access-vlan>${vlan}</access-vlan></config></switched-vlan></ethernet>`,
          ),
        ),
      deadEndpoint: 'netconf:127.0.0.1:1',
      stop,
    };
  },
  { modes: ['lacp', 'static'], pairs: [] },
);

/** A whole change by ncclient: what it says of our servers is what a client of theirs would meet. */
const judge = `
import sys
from ncclient import manager
from ncclient.operations import RPCError
port, password, body = int(sys.argv[1]), sys.argv[2], sys.argv[3]
with manager.connect(host="127.0.0.1", port=port, username="baton", password=password, hostkey_verify=False,
                     look_for_keys=False, allow_agent=False, device_params={"name": sys.argv[4]}) as m:
    print("candidate", ":candidate" in m.server_capabilities)
    with m.locked("candidate"):
        try:
            with manager.connect(host="127.0.0.1", port=port, username="baton", password=password, hostkey_verify=False,
                                 look_for_keys=False, allow_agent=False, device_params={"name": sys.argv[4]}) as other:
                other.lock("candidate")
        except RPCError as error:
            print("second", error.tag)
        if sys.argv[4] == "default":
            m.edit_config(target="candidate", config=body)
            m.validate("candidate")
            m.commit(confirmed=True, timeout="60", persist="judge")
            m.commit(persist_id="judge")
        else:
            m.load_configuration(action="set", config=body.split("\\n"))
            m.commit(confirmed=True, timeout="60", comment="judge")
            m.commit()
`;

test('ncclient finds our OpenConfig server to be one', async () => {
  const simulated = await startOpenconfigSwitch(['Ethernet1']);
  try {
    const body = /<config>.*<\/config>/.exec(
      interfaces(
        portOf(
          'Ethernet1',
          '<ethernet xmlns="http://openconfig.net/yang/interfaces/ethernet"><switched-vlan xmlns="http://openconfig.net/yang/vlan">' +
            '<config><interface-mode>ACCESS</interface-mode><access-vlan>100</access-vlan></config></switched-vlan></ethernet>',
        ),
      ),
    )?.[0];
    const { endpoint, password } = simulated;
    const { stdout } = await run('/usr/bin/python3', [
      '-c',
      judge,
      endpoint.split(':')[2] ?? '',
      password,
      body ?? '',
      'default',
    ]);
    expect(stdout).toBe('candidate True\nsecond lock-denied\n');
    expect(simulated.state.running.ports.get('Ethernet1')?.switched).toContain('<access-vlan>100<');
    expect(simulated.state).toMatchObject({ holder: undefined, confirming: undefined });
  } finally {
    await simulated.stop();
  }
});

test('ncclient finds our Junos to be one', async () => {
  const simulated = await startJunosNetconf(['ge-0/0/0']);
  try {
    const lines = [
      'delete interfaces ge-0/0/0 unit 0 family ethernet-switching',
      'set interfaces ge-0/0/0 unit 0 family ethernet-switching interface-mode access',
    ];
    const { endpoint, password } = simulated;
    const { stdout } = await run('/usr/bin/python3', [
      '-c',
      judge,
      endpoint.split(':')[2] ?? '',
      password,
      lines.join('\n'),
      'junos',
    ]);
    expect(stdout).toBe('candidate True\nsecond lock-denied\n');
    expect([...simulated.state.running]).toContain(lines[1]?.slice('set '.length));
    expect(simulated.state).toMatchObject({ holder: undefined, confirming: undefined });
  } finally {
    await simulated.stop();
  }
});
