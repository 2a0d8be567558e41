import { eq } from 'drizzle-orm';
import { expect, onTestFinished, test } from 'vitest';
import { lookAtSwitchPorts } from '#conductor/flows/network/look-at-switch-ports.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { switchPorts } from '#conductor/kernel/db/schema/port.ts';
import { parseNetworksFile } from '#conductor/networks/networks-file.ts';
import { switchDrivers } from '#conductor/networks/switches/index.ts';
import { startTextSwitch } from '#test/simulators/switch/text-switch.ts';
import { textSystems } from '#test/simulators/switch/text-systems.ts';
import { openTestApi } from '#test/support/test-api.ts';

/** Ports of a switch whose entry says `repair`, which somebody else has changed. */

test('a restored node’s ports are read, and not put where the dump has them', async () => {
  const system = textSystems.find(({ name }) => name === 'ios-xe');
  if (!system) throw new Error('there is no simulated ios-xe');
  const simulated = await startTextSwitch(system, [1, 100, 200]);
  const portId = 'GigabitEthernet1/0/1';
  simulated.configure(`interface ${portId}`, 'switchport mode access', 'switchport access vlan 200');
  const networks = parseNetworksFile(
    `switches:
  - {switch_id: leaf1, driver: ios-xe, endpoint: '${simulated.endpoint}', credential: leafs, host_key: '${simulated.hostKey}', ports: ["GigabitEthernet1/0/{1-48}"], repair: true}
networks: {blue: {vlan: 100}}
defaults: {provisioning: blue, cleaning: blue, tenant: blue}`,
    'networks.yaml',
    switchDrivers,
  );
  const api = await openTestApi({ networks });
  onTestFinished(() => api.close());
  const { db } = api.context;
  const { username, password } = simulated;
  await api.call('PUT', '/api/v1.0/credentials/leafs', { username, password });
  const asked = { driver: 'fake-hardware', network_interface: 'switchport' };
  const { uuid } = await api.call('POST', '/v1/nodes', asked);
  const link = { switch_id: 'leaf1', port_id: portId };
  const mac = { node_uuid: uuid, address: '52:54:00:00:00:01', local_link_connection: link };
  const { uuid: portUuid } = await api.call('POST', '/v1/ports', mac);
  await db.insert(switchPorts).values({ portUuid, network: 'blue', vlan: 100 });
  const repaired = async () => {
    const seen: string[] = [];
    await lookAtSwitchPorts(api.context, new AbortController().signal, async (node) => {
      seen.push(node.uuid);
    });
    return seen;
  };

  expect(await repaired()).toEqual([uuid]);
  await db.update(nodes).set({ maintenance: true, fault: 'restored' }).where(eq(nodes.uuid, uuid));
  await db.update(switchPorts).set({ found: null });
  expect(await repaired()).toEqual([]);
  expect(await db.select({ found: switchPorts.found }).from(switchPorts)).toEqual([
    { found: { untagged: 200, tagged: [] } },
  ]);
});
