import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { startDemoSwitches, switchCredential } from '#test/demo/switches.ts';
import { startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { createSiteOperator } from '#test/support/site-operator.ts';

/** A machine whose cable was moved after it was enrolled: its own ramdisk hears another switch port than recorded. */

const name = 'replugged';

/** A node recorded at the switch's first port, and plugged into its second; `available`. */
async function startRack(movedCables?: string): Promise<Operator> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-cables-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const switches = await startDemoSwitches(48);
  onTestFinished(() => switches.close());
  const networksFile = join(folder, 'networks.yaml');
  await writeFile(networksFile, JSON.stringify({ ...JSON.parse(switches.networksFile), moved_cables: movedCables }));
  const conductor = await startConductorInProcess({
    log: silentLog,
    settings: { BATON_NETWORKS_FILE: networksFile },
  });
  onTestFinished(() => conductor.close());
  const operator = createOperator(conductor.url);
  await createSiteOperator(conductor.url).setCredential(switchCredential.name, switchCredential.account);
  const machine = await startSimulatedNode({
    conductorUrl: () => conductor.url,
    mac: '52:54:00:00:ca:01',
    switchPort: switches.portOf(1),
  });
  onTestFinished(() => machine.close());
  await enrolSimulatedNode(operator, machine, name);
  const { ports } = (await operator.call('GET', `/v1/ports?node=${name}`)) as { ports: [{ uuid: string }] };
  const { switchId: switch_id, portId: port_id } = switches.portOf(0);
  await operator.call('PATCH', `/v1/ports/${ports[0].uuid}`, [
    { op: 'add', path: '/local_link_connection', value: { switch_id, port_id } },
  ]);
  await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/network_interface', value: 'switchport' }]);
  return operator;
}

async function stateOf(operator: Operator, step: string): Promise<string | undefined> {
  const { steps } = (await operator.call('GET', `/v1/nodes/${name}/flow`)) as {
    steps: { step: string; state: string }[];
  };
  return steps.find((each) => each.step === step)?.state;
}

async function cableEvents(operator: Operator): Promise<string[]> {
  const { history } = (await operator.call('GET', `/v1/nodes/${name}/history?detail=true`)) as {
    history: { severity: string; event: string }[];
  };
  return history.flatMap(({ severity, event }) => (severity === 'ERROR' ? [event] : []));
}

const moved =
  '52:54:00:00:ca:01 is plugged into switch 00:1c:73:00:00:00 port Ethernet2, but its local_link_connection says ' +
  'switch 00:1c:73:00:00:00 port Ethernet1, whose switch port would be moved: correct it, or the cable';

test('refused: the deploy fails before a port is moved to the tenant’s network', async () => {
  const operator = await startRack('refuse');
  await operator.provision(name, 'active');
  const node = await operator.waitForState(name, 'deploy failed');
  expect(node['last_error']).toContain(`no port is moved: ${moved}`);
  expect(await stateOf(operator, 'tear_down_agent')).toBe('failed');
  expect(await stateOf(operator, 'switch_to_tenant_network')).toBe('skipped');
});

test('by default the deploy goes on, and the node’s history says so', async () => {
  const operator = await startRack();
  await operator.provision(name, 'active');
  await operator.waitForState(name, 'active');
  expect(await cableEvents(operator)).toEqual([moved]);
});

test('switched off, nobody asks', async () => {
  const operator = await startRack('off');
  await operator.provision(name, 'active');
  await operator.waitForState(name, 'active');
  expect(await cableEvents(operator)).toEqual([]);
});
