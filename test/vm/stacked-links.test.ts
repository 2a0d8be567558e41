import { afterAll, beforeAll, expect, test } from 'vitest';
import { labDiagnostics } from '#test/lab/diagnostics.ts';
import { type Lab, startLab } from '#test/lab/lab.ts';
import { labAddresses } from '#test/lab/network.ts';
import { provision, waitForState } from '#test/lab/operator.ts';

/** A machine without DHCP whose switch ports have the provisioning network tagged: the ramdisk's address is on a VLAN on a bond. */

const secondMac = '52:54:01:00:00:01';
const { vlan } = labAddresses.provisioning;
let lab: Lab | undefined;

beforeAll(async () => {
  lab = await startLab({ nodes: [{ firmware: 'bios', bmc: 'redfish', boot: 'vmedia', secondMac }] });
});
afterAll(() => lab?.close());

test('is inspected over the VLAN on its bond', async () => {
  const [running, node] = [lab, lab?.nodes[0]];
  if (!running || !node) throw new Error('there is no lab');
  const { api, network } = running;
  const { mac } = node.machine;
  try {
    const { uuid } = await api.call<{ uuid: string }>('POST', '/v1/nodes', {
      name: node.name,
      driver: node.bmc.driver,
      driver_info: node.bmc.driverInfo,
      network_interface: 'noop',
      boot_interface: node.bootInterface,
      network_data: {
        links: [
          { id: 'nic0', type: 'phy', ethernet_mac_address: mac },
          { id: 'nic1', type: 'phy', ethernet_mac_address: secondMac },
          { id: 'bond', type: 'bond', bond_links: ['nic0', 'nic1'], bond_mode: 'active-backup' },
          { id: 'tagged', type: 'vlan', vlan_link: 'bond', vlan_id: vlan },
        ],
        networks: [{ link: 'tagged', type: 'ipv4', ip_address: node.staticAddress, netmask: '255.255.255.0' }],
      },
    });
    await api.call('POST', '/v1/ports', { node_uuid: uuid, address: mac, pxe_enabled: false });
    for (const port of [node.name, `${node.name}b`]) {
      await network.vsctl('set', 'Port', port, 'vlan_mode=trunk', `trunks=${vlan}`, 'protected=false');
    }
    await provision(running, node, 'manage');
    await waitForState(running, node, 'manageable');
    await provision(running, node, 'inspect');
    await waitForState(running, node, 'manageable', 14 * 60_000);
  } catch (error) {
    process.stdout.write(`${labDiagnostics(running, 60)}\n`);
    throw error;
  }
  const { inventory } = await api.call<{ inventory: { interfaces: { mac_address: string }[] } }>(
    'GET',
    `/v1/nodes/${node.name}/inventory`,
  );
  expect(inventory.interfaces.map(({ mac_address: each }) => each).toSorted()).toEqual([mac, secondMac].toSorted());
});
