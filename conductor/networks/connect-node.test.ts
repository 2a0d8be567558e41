import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { portVlans } from '#conductor/model/port-vlans.ts';
import { createNetworkConnector } from '#conductor/networks/connect-node.ts';
import { planNetworkMove } from '#conductor/networks/network-interfaces.ts';
import type { Networks } from '#conductor/networks/networks-file.ts';
import type { OneWriter } from '#conductor/networks/switch-rounds.ts';
import { commandLineDriver } from '#conductor/networks/switches/command-line/command-line-driver.ts';
import { eos as eosSystem } from '#conductor/networks/switches/os/eos.ts';
import { startEosApi } from '#test/simulators/switch/eos.ts';

/** Makes the lock that conductors on one database share. */
function oneAtATime(): OneWriter {
  const state = { last: Promise.resolve() as Promise<unknown> };
  return (_switchId, signal, work) => {
    const turn = state.last.then(() => work(signal));
    state.last = turn.catch(() => undefined);
    return turn;
  };
}

test('a look by another conductor leaves a change alone that is not confirmed yet', async () => {
  const eos = await startEosApi({ ports: ['Ethernet1'], vlans: [1, 100] });
  const folder = await mkdtemp(join(tmpdir(), 'baton-look-'));
  const passwordFile = join(folder, 'password');
  await writeFile(passwordFile, eos.password);
  await chmod(passwordFile, 0o600);
  const { endpoint, username, certificate } = eos;
  const entry = { switchId: 'leaf1', driver: 'eos', endpoint, username, passwordFile, certificate };
  const networks: Networks = {
    switches: [{ ...entry, ports: ['Ethernet1'] }],
    networks: [{ name: 'blue', vlans: portVlans(100) }],
    defaults: { provisioning: 'blue', cleaning: 'blue', tenant: 'blue' },
  };
  const oneWriter = oneAtATime();
  // drivers of their own, as in two processes
  const [one, other] = [1, 2].map(() =>
    createNetworkConnector(networks, () => commandLineDriver(eosSystem), oneWriter),
  );
  const localLinkConnection = { switch_id: 'leaf1', port_id: 'Ethernet1' };
  const node = {
    uuid: 'p',
    address: '52:54:00:00:00:01',
    pxeEnabled: true,
    portgroupUuid: null,
    physicalNetwork: null,
  };
  const ports = [{ ...node, localLinkConnection }];
  const destination = { purpose: 'provisioning' } as const;
  try {
    eos.faults.commandMs = 50;
    const moved = one?.connect({ nodeUuid: 'n', networkInterface: 'switchport', ports, destination });
    await expect.poll(() => eos.state.sessions.size, { interval: 1 }).toBe(1);
    const looked = other?.look(planNetworkMove({ networkInterface: 'switchport', ports, networks, destination }));
    expect(await moved).toMatchObject([{ network: 'blue', vlan: 100 }]);
    expect(await looked).toMatchObject({ looks: [{ found: { vlans: portVlans(100) }, commands: [] }], failures: [] });
  } finally {
    await one?.close();
    await other?.close();
    await eos.stop();
    await rm(folder, { recursive: true });
  }
});
