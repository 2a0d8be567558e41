import { afterAll, beforeAll, expect, test } from 'vitest';
import { labDiagnostics } from '#test/lab/diagnostics.ts';
import { type Lab, startLab } from '#test/lab/lab.ts';
import { labAddresses } from '#test/lab/network.ts';
import { provision, waitForState } from '#test/lab/operator.ts';

/** A machine nobody has described: its own ramdisk tells what it is, and Open vSwitch, by LLDP, where it is. */

const gib = 1024 ** 3;
let lab: Lab | undefined;

beforeAll(async () => {
  lab = await startLab({ nodes: [{ firmware: 'uefi', bmc: 'redfish', disks: [{ bus: 'nvme', gib: 6 }] }] });
});
afterAll(() => lab?.close());

test('is inspected: inventory, properties, and the switch port that it is at', async () => {
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
    });
    await api.call('POST', '/v1/ports', { node_uuid: uuid, address: mac });
    await network.vsctl('clear', 'Port', node.name, 'trunks');
    await network.vsctl('set', 'Port', node.name, 'vlan_mode=access', `tag=${labAddresses.provisioning.vlan}`);
    await network.vsctl('set', 'Interface', node.name, 'lldp:enable=true');
    await provision(running, node, 'manage');
    await waitForState(running, node, 'manageable');

    await provision(running, node, 'inspect');
    await waitForState(running, node, 'manageable', 14 * 60_000);
  } catch (error) {
    process.stdout.write(`${labDiagnostics(running, 60)}\n`);
    throw error;
  }

  const inventory = await api.call<Record<string, unknown>>('GET', `/v1/nodes/${node.name}/inventory`);
  expect(inventory).toMatchObject({
    inventory: {
      interfaces: [{ mac_address: mac, has_carrier: true, driver: 'virtio_net' }],
      disks: [
        {
          name: '/dev/nvme0n1',
          size: 6 * gib,
          rotational: false,
          baton_contents: [],
          baton_firmware: expect.stringMatching(/./) as unknown,
          baton_health: { passed: true, media_errors: 0 },
        },
      ],
      boot: { current_boot_mode: 'uefi', pxe_interface: mac },
      memory: {
        total: expect.any(Number) as unknown,
        baton_slots: 1,
        baton_modules: [{ slot: 'DIMM 0', manufacturer: 'QEMU', type: 'RAM' }],
      },
      baton_pci_devices: expect.arrayContaining([
        expect.objectContaining({ class: 'Non-Volatile memory controller', vendor: 'Red Hat, Inc.', driver: 'nvme' }),
        expect.objectContaining({ class: 'Ethernet controller', product: expect.stringMatching(/^Virtio/) as unknown }),
      ]) as unknown,
      baton_accelerators: [],
      system_vendor: { manufacturer: 'QEMU', baton_chassis: { manufacturer: 'QEMU' } },
    },
    plugin_data: {
      root_disk: { name: '/dev/nvme0n1' },
      boot_interface: mac,
      parsed_lldp: { eth0: { switch_system_description: expect.stringContaining('openvswitch') as unknown } },
      error: null,
    },
  });
  expect(await api.call('GET', `/v1/nodes/${node.name}`)).toMatchObject({
    properties: { cpu_arch: 'x86_64', local_gb: 6, capabilities: 'boot_mode:uefi' },
    power_state: 'power off',
  });
  const { ports } = await api.call<{ ports: unknown[] }>('GET', `/v1/ports/detail?node=${node.name}`);
  expect(ports).toMatchObject([{ address: mac, pxe_enabled: true, local_link_connection: { port_id: node.name } }]);
});
