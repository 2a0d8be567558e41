import { startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import type { Operator } from '#test/support/operator.ts';

/** A simulated node with two ports at a switch's: the first boots from the network. */
export async function enrolPair(options: {
  readonly operator: Operator;
  readonly conductorUrl: string;
  readonly node: string;
  readonly switchId: string;
  readonly addresses: readonly [string, string];
  readonly plugs: readonly [string, string];
}) {
  const { operator, conductorUrl, node, switchId, addresses, plugs } = options;
  const own = await startSimulatedNode({ conductorUrl: () => conductorUrl, mac: addresses[0] });
  await enrolSimulatedNode(operator, own, node, { network_interface: 'flat' });
  await operator.provision(node, 'manage');
  await operator.waitForState(node, 'manageable');
  const { uuid } = await operator.node(node);
  const { ports } = (await operator.call('GET', `/v1/ports?node=${node}`)) as { ports: { uuid: string }[] };
  const plug = (port: string) => ({ switch_id: switchId, port_id: port });
  const made = await operator.call('POST', '/v1/ports', {
    node_uuid: uuid,
    address: addresses[1],
    pxe_enabled: false,
    local_link_connection: plug(plugs[1]),
  });
  const members = [String(ports[0]?.uuid), String(made['uuid'])];
  await operator.call('PATCH', `/v1/ports/${members[0]}`, [
    { op: 'add', path: '/local_link_connection', value: plug(plugs[0]) },
  ]);
  await operator.call('PATCH', `/v1/nodes/${node}`, [
    { op: 'add', path: '/network_interface', value: 'switchport' },
    { op: 'add', path: '/automated_clean', value: false },
  ]);
  const intoGroup = async (mode: string): Promise<string> => {
    const group = await operator.call('POST', '/v1/portgroups', { node_uuid: uuid, mode });
    for (const member of members) {
      const change = { op: 'add', path: '/portgroup_uuid', value: group['uuid'] };
      await operator.call('PATCH', `/v1/ports/${member}`, [change]);
    }
    return String(group['uuid']);
  };
  const network = async () => (await operator.call('GET', `/v1/nodes/${node}/validate`))['network'];
  return { close: () => own.close(), intoGroup, network, plug };
}
