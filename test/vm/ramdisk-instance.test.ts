import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { labDiagnostics } from '#test/lab/diagnostics.ts';
import { type Lab, startLab } from '#test/lab/lab.ts';
import { labAddresses } from '#test/lab/network.ts';
import { provision, waitForState } from '#test/lab/operator.ts';
import { waitUntil } from '#test/lab/wait-until.ts';

/** An instance that is a kernel and a ramdisk, which iPXE loads at each boot: no agent, no disk. */

let lab: Lab | undefined;

beforeAll(async () => {
  lab = await startLab({ nodes: [{ firmware: 'bios', bmc: 'ipmi' }] });
});
afterAll(() => lab?.close());

test('runs after the deploy, and again after a reboot', async () => {
  const [running, node] = [lab, lab?.nodes[0]];
  if (!running || !node) throw new Error('there is no lab');
  const { api, network, conductor } = running;
  const { serialLog } = node.machine;
  // Baton's own ramdisk, which is told of no conductor here, stands for the instance's
  const file = (name: string) => `${conductor.url}/boot/${name}`;
  const count = (text: RegExp) => readFileSync(serialLog, 'latin1').match(text)?.length ?? 0;
  const hasBooted = async (boot: number): Promise<void> => {
    for (const text of [/Kernel command line: .*lives=here/g, /disks: vda/g]) {
      await waitUntil(`boot ${boot} of the instance: ${text.source}`, () => count(text) === boot || undefined, {
        timeoutMs: 14 * 60_000,
      });
    }
  };
  try {
    const { uuid } = await api.call<{ uuid: string }>('POST', '/v1/nodes', {
      name: node.name,
      driver: node.bmc.driver,
      driver_info: node.bmc.driverInfo,
      deploy_interface: 'ramdisk',
      network_interface: 'noop',
      automated_clean: false,
      instance_info: {
        kernel: file('vmlinuz'),
        ramdisk: file('initrd.img'),
        kernel_append_params: 'console=ttyS0,115200 lives=here',
      },
    });
    await api.call('POST', '/v1/ports', { node_uuid: uuid, address: node.machine.mac });
    await network.vsctl('clear', 'Port', node.name, 'trunks');
    await network.vsctl('set', 'Port', node.name, 'vlan_mode=access', `tag=${labAddresses.provisioning.vlan}`);
    await provision(running, node, 'manage');
    await waitForState(running, node, 'manageable');
    await provision(running, node, 'provide');
    await waitForState(running, node, 'available');
    await provision(running, node, 'active');
    await waitForState(running, node, 'active');
    await hasBooted(1);
    await api.call('PUT', `/v1/nodes/${node.name}/states/power`, { target: 'rebooting' });
    await hasBooted(2);
  } catch (error) {
    process.stdout.write(`${labDiagnostics(running, 60)}\n`);
    throw error;
  }
  expect(node.machine.boots).toHaveLength(2);
});
