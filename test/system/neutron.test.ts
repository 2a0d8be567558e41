import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lookAtSwitchPorts, repairSwitchPorts } from '#conductor/flows/network/look-at-switch-ports.ts';
import { openApiCaller } from '#conductor/kernel/caller.ts';
import { silentLog } from '#shared/log.ts';
import { type SimulatedNeutron, startSimulatedNeutron } from '#test/simulators/neutron.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** Whole flows of a node whose switches Neutron sets. */

const name = 'bound';
const address = '52:54:00:00:ae:01';
let folder: string;
let neutron: SimulatedNeutron;
let conductor: ConductorInProcess;
let operator: Operator;
let machine: SimulatedNode;

beforeAll(async () => {
  neutron = await startSimulatedNeutron();
  for (const network of ['provision-net', 'clean-net']) neutron.addNetwork(network);
  folder = await mkdtemp(join(tmpdir(), 'baton-neutron-'));
  const networksFile = join(folder, 'networks.yaml');
  const section = { url: neutron.url, provisioning: 'provision-net', cleaning: 'clean-net' };
  await writeFile(networksFile, JSON.stringify({ neutron: section }));
  conductor = await startConductorInProcess({ log: silentLog, settings: { BATON_NETWORKS_FILE: networksFile } });
  operator = createOperator(conductor.url);
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac: address });
  await enrolSimulatedNode(operator, machine, name, { network_interface: 'flat' });
  const { ports } = (await operator.call('GET', `/v1/ports?node=${name}`)) as { ports: { uuid: string }[] };
  await operator.call('PATCH', `/v1/ports/${ports[0]?.uuid}`, [
    { op: 'add', path: '/local_link_connection', value: { switch_id: 'leaf1', port_id: 'Ethernet1' } },
  ]);
  await operator.call('PATCH', `/v1/nodes/${name}`, [
    { op: 'add', path: '/network_interface', value: 'neutron' },
    { op: 'add', path: '/automated_clean', value: true },
  ]);
});
afterAll(async () => {
  await machine?.close();
  await conductor?.close();
  await neutron?.stop();
  await rm(folder, { recursive: true, force: true });
});

const bodies = (pattern: RegExp): number => neutron.requests.filter((each) => pattern.test(each)).length;

/** Looks as the conductor does in the background. @param repair as the networks file may say */
async function look({ repair = false } = {}): Promise<void> {
  const context = conductor.context();
  const { networks } = context.networks;
  const neutronSettings = networks.neutron && { ...networks.neutron, repair };
  const changed = {
    ...context,
    networks: { ...context.networks, networks: { ...networks, neutron: neutronSettings } },
  };
  await lookAtSwitchPorts(changed, new AbortController().signal, (node, isMeant) =>
    repairSwitchPorts(context, node, openApiCaller, isMeant),
  );
}

test('cleaned on one network, deployed from another onto its VIF, and let go of', async () => {
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  await operator.provision(name, 'provide');
  await operator.waitForState(name, 'available');
  expect(bodies(/^POST \/v2\.0\/ports$/)).toBe(1);
  expect([...neutron.state.ports.values()]).toEqual([]);

  const vif = neutron.addPort(neutron.addNetwork('blue'), { name: 'web' });
  await operator.call('POST', `/v1/nodes/${name}/vifs`, { id: vif.id });
  const { uuid } = await operator.node(name);
  expect(await operator.call('POST', `/v1/nodes/${name}/plan`, { target: 'active' })).toMatchObject({
    switch_ports: [
      {
        address,
        switch_id: 'leaf1',
        port_id: 'Ethernet1',
        network: vif.id,
        found: null,
        commands: [
          `port set ${vif.id} --mac-address ${address} --host ${String(uuid)} --vnic-type baremetal --binding-profile ` +
            `'{"local_link_information":[{"port_id":"Ethernet1","switch_id":"leaf1"}]}'`,
        ],
      },
    ],
  });
  await operator.provision(name, 'active');
  await operator.waitForState(name, 'active');
  expect([...neutron.state.ports.values()]).toEqual([vif]);
  const node = await operator.node(name);
  expect(vif).toMatchObject({ mac_address: address, status: 'ACTIVE', 'binding:host_id': node['uuid'] });
  const network = () =>
    operator.call('GET', `/v1/nodes/${name}/network?look=true`) as Promise<{ ports: [Record<string, unknown>] }>;
  expect((await network()).ports).toMatchObject([
    { network: vif.id, differs: false, differences: [], commands: [], error: null },
  ]);
  // somebody else has unbound it, and made it look like nothing
  Object.assign(vif, { 'binding:host_id': '', 'binding:vif_type': 'unbound', 'binding:profile': {}, status: 'DOWN' });
  expect((await network()).ports).toMatchObject([
    {
      network: vif.id,
      differs: true,
      differences: [`VIF ${vif.id} is not bound to the node`],
      commands: [expect.stringMatching(`^port set ${vif.id} --mac-address`)],
    },
  ]);
  await operator.call('POST', `/v1/nodes/${name}/network/repair`);
  expect(vif).toMatchObject({ mac_address: address, status: 'ACTIVE', 'binding:host_id': node['uuid'] });
  // its switch has lost it, and a port of an earlier try has come back
  const own = { name: 'baton provisioning x', device_id: String(node['uuid']), device_owner: 'baremetal:none' };
  const left = neutron.addPort(neutron.addNetwork('old'), own);
  Object.assign(vif, { status: 'DOWN' });
  const differences = [`port ${left.id} (${left.name}) is left over`, `port ${vif.id} is DOWN, not ACTIVE`];
  expect((await network()).ports).toMatchObject([{ differs: true, differences }]);
  await look();
  await look();
  const reports = async () => {
    const answer = await operator.call('GET', `/v1/nodes/${name}/history?detail=true`);
    return (answer['history'] as { event: string }[]).filter(({ event }) => event.startsWith('switch port of'));
  };
  const where = `switch port of ${address} at Neutron`;
  expect(await reports()).toMatchObject([{ severity: 'ERROR', event: `${where} differs: ${differences.join('; ')}` }]);
  expect((await operator.node(name))['driver_internal_info']).toMatchObject({
    baton_switch_ports_differing: [{ address }],
  });
  await operator.call('POST', `/v1/nodes/${name}/network/repair`);
  expect([...neutron.state.ports.values()]).toEqual([vif]);
  expect((await network()).ports).toMatchObject([{ differs: false, differences: [] }]);
  // and by itself, where the networks file says so
  Object.assign(vif, { status: 'DOWN' });
  await look({ repair: true });
  expect(vif.status).toBe('ACTIVE');
  // what is bound as it is to be asks for nothing
  expect(await operator.call('POST', `/v1/nodes/${name}/plan`, { target: 'rebuild' })).toMatchObject({
    switch_ports: [{ network: vif.id, found: `${vif.id} ACTIVE`, commands: [] }],
  });

  await operator.provision(name, 'deleted');
  await operator.waitForState(name, 'available');
  expect([...neutron.state.ports.values()]).toEqual([vif]);
  expect(vif).toMatchObject({ status: 'DOWN', 'binding:host_id': '', 'binding:vif_type': 'unbound' });
  expect(vif.mac_address).not.toBe(address);
});

test('a port that can’t be bound fails the flow with the switch’s name, and the next try works', async () => {
  neutron.state.switches.clear();
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  await operator.provision(name, 'provide');
  await operator.waitForState(name, 'clean failed');
  expect((await operator.node(name))['last_error']).toMatch(/Neutron failed to bind port \S+ .*leaf1/);
  neutron.state.switches.add('leaf1');
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  await operator.call('DELETE', `/v1/nodes/${name}/maintenance`);
  await operator.provision(name, 'provide');
  await operator.waitForState(name, 'available');
  expect([...neutron.state.ports.values()].filter((each) => each.name.startsWith('baton '))).toEqual([]);
});

test('a plan says which VIF Neutron has no more', async () => {
  const vif = neutron.addPort(neutron.addNetwork('green'), { name: 'db' });
  await operator.call('POST', `/v1/nodes/${name}/vifs`, { id: vif.id });
  neutron.state.ports.delete(vif.id);
  expect(await operator.call('POST', `/v1/nodes/${name}/plan`, { target: 'active' })).toMatchObject({
    switch_ports: [],
    warnings: expect.arrayContaining([expect.stringMatching(/^The network is not known: .*/)]) as unknown,
  });
  await operator.call('DELETE', `/v1/nodes/${name}/vifs/${vif.id}`);
});

test('where Neutron does not answer, a plan and a diff say so', async () => {
  const vif = neutron.addPort(neutron.addNetwork('red'), { name: 'late' });
  await operator.call('POST', `/v1/nodes/${name}/vifs`, { id: vif.id });
  await neutron.stop();
  const silent = /Neutron at http:\S+ does not answer GET/;
  expect(await operator.call('POST', `/v1/nodes/${name}/plan`, { target: 'active' })).toMatchObject({
    switch_ports: [],
    warnings: expect.arrayContaining([
      expect.stringMatching(new RegExp(`^The network is not known: .*${silent.source}`)),
    ]) as unknown,
  });
  expect(await operator.call('GET', `/v1/nodes/${name}/network?look=true`)).toMatchObject({
    ports: [{ differs: false, found: null, error: expect.stringMatching(silent) as unknown }],
  });
});
