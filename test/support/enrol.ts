import type { SimulatedNode } from '#test/simulators/node/simulated-node.ts';
import type { Operator } from '#test/support/operator.ts';

/** Instance that a simulated deploy asks for; the simulated agent fetches nothing. */
export const demoInstance = {
  image_source: 'http://images.example/demo.raw',
  image_os_hash_algo: 'sha256',
  image_os_hash_value: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
};

/** Takes a simulated node from nothing to `available`, without cleaning; answers its name. */
export async function enrolSimulatedNode(
  operator: Operator,
  simulated: SimulatedNode,
  name: string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const { uuid } = await operator.call('POST', '/v1/nodes', {
    name,
    driver: 'redfish',
    driver_info: simulated.driverInfo,
    // BIOS: the simulated ramdisk has no firmware to put a boot entry into
    properties: { capabilities: 'boot_mode:bios' },
    automated_clean: false,
    network_interface: 'noop',
    instance_info: demoInstance,
    ...more,
  });
  await operator.call('POST', '/v1/ports', { node_uuid: uuid, address: simulated.mac });
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  await operator.provision(name, 'provide');
  await operator.waitForState(name, 'available');
  return name;
}
