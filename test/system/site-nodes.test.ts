import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findOpenFlow } from '#conductor/flows/log/flow-store.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { siteNodes } from '#conductor/kernel/db/schema/site.ts';
import type { NodeOutcome, NodePhase } from '#conductor/model/site/site-run.ts';
import { inWords } from '#conductor/model/testing/in-words.ts';
import { putCredential } from '#conductor/sites/credentials.ts';
import { advanceNodes } from '#conductor/sites/nodes/advance-nodes.ts';
import type { NodeOrder } from '#conductor/sites/nodes/node-order.ts';
import type { SiteNode } from '#conductor/sites/site.ts';
import { silentLog } from '#shared/log.ts';
import { waitUntil as waitUntilWithin } from '#test/lab/wait-until.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { demoInstance } from '#test/support/enrol.ts';
import { siteOf } from '#test/support/fake-site.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { off } from '#test/support/step-node.ts';

/** Nodes of a site through the whole protocol, from their documents to active, without what calls for it. */

const waitUntil = <T>(what: string, look: () => Promise<T | undefined>): Promise<T> =>
  waitUntilWithin(what, look, { everyMs: 50 });

let conductor: ConductorInProcess;
let operator: Operator;
const machines: SimulatedNode[] = [];

beforeAll(async () => {
  conductor = await startConductorInProcess({ log: silentLog });
  operator = createOperator(conductor.url);
  await putCredential(conductor.context(), 'bmc', { username: 'admin', password: 'simulated' }, undefined);
});
afterAll(async () => {
  await Promise.all(machines.map((machine) => machine.close()));
  await conductor.close();
});

async function newMachine(more: Partial<Parameters<typeof startSimulatedNode>[0]> = {}): Promise<SimulatedNode> {
  const hex = machines.length.toString(16).padStart(2, '0');
  const machine = await startSimulatedNode({
    conductorUrl: () => conductor.url,
    mac: `52:54:00:06:00:${hex}`,
    ...more,
  });
  machines.push(machine);
  return machine;
}

function documentOf(name: string, machine: SimulatedNode, more: Partial<SiteNode> = {}): SiteNode {
  return {
    name,
    rack: 'r1',
    tags: ['control'],
    labels: { zone: 'a' },
    resourceClass: 'baremetal',
    driver: 'redfish',
    driverInfo: { redfish_address: machine.bmc.address },
    credential: 'bmc',
    // BIOS: the simulated ramdisk has no firmware to put a boot entry into
    properties: { capabilities: 'boot_mode:bios' },
    ports: [{ address: machine.mac, pxeEnabled: true }],
    traits: ['CUSTOM_SITE'],
    instanceInfo: demoInstance,
    ...more,
  };
}

const newAction = () => ({ id: crypto.randomUUID(), name: 'deploy_site', user: 'alice', revisionId: 7 });

interface Beats {
  readonly action: ReturnType<typeof newAction>;
  readonly phase: NodePhase;
  readonly cancel?: string;
}

async function beat(node: SiteNode, { action, phase, cancel }: Beats): Promise<NodeOutcome> {
  const order: NodeOrder = { node, phase, ...(cancel === undefined ? {} : { cancel }) };
  const outcomes = await advanceNodes(conductor.context(), { action, site: siteOf([node]), orders: [order] });
  const outcome = outcomes.get(node.name);
  if (!outcome) throw new Error(`no outcome for ${node.name}`);
  return outcome;
}

/** Until it has ended. */
function run(node: SiteNode, beats: Beats): Promise<NodeOutcome> {
  return waitUntil(`${beats.phase} of ${node.name}`, async () => {
    const outcome = await beat(node, beats);
    return outcome.state === 'working' ? undefined : outcome;
  });
}

async function kindsOf(name: string): Promise<string[]> {
  const { uuid } = await operator.node(name);
  const rows = await conductor
    .context()
    .db.select()
    .from(flows)
    .where(eq(flows.nodeUuid, String(uuid)));
  return rows
    .sort((a, b) => a.startedAt.getTime() - b.startedAt.getTime())
    .map(({ kind, state }) => `${kind} ${state}`);
}

describe('a node that nobody knows', () => {
  const action = newAction();
  let machine: SimulatedNode;
  let node: SiteNode;
  beforeAll(async () => {
    machine = await newMachine({ inspects: true });
    node = documentOf('new', machine);
  });

  test('is enrolled, verified, inspected, cleaned and reserved by prepare', async () => {
    expect(await run(node, { action, phase: 'prepare' })).toEqual({ state: 'done' });
    const row = await operator.node('new');
    expect(row).toMatchObject({
      provision_state: 'available',
      instance_uuid: expect.any(String),
      resource_class: 'baremetal',
      traits: ['CUSTOM_SITE'],
      extra: { tags: ['control'], labels: { zone: 'a' } },
      properties: { rack: 'r1' },
    });
    expect(await kindsOf('new')).toEqual(['verify succeeded', 'inspect succeeded', 'clean succeeded']);
    expect(await operator.call('GET', '/v1/allocations/new')).toMatchObject({
      state: 'active',
      node_uuid: row['uuid'],
      uuid: row['instance_uuid'],
    });
    const { history } = (await operator.call('GET', '/v1/nodes/new/history')) as { history: { uuid: string }[] };
    const entries = await Promise.all(history.map(({ uuid }) => operator.call('GET', `/v1/nodes/new/history/${uuid}`)));
    expect(entries).toContainEqual(
      expect.objectContaining({ user: 'alice', event: expect.stringContaining(`(site action ${action.id})`) }),
    );
  });

  test('is deployed with what the documents say, by the ramdisk that prepare has left', async () => {
    expect(machine.state()).toEqual({ power: 'on', runs: 'ramdisk' });
    expect(machine.boots()).toBe(1);
    expect(await run(node, { action, phase: 'deploy' })).toEqual({ state: 'done' });
    expect(machine.boots()).toBe(2);
    expect(machine.state()).toEqual({ power: 'on', runs: 'instance' });
    const row = await operator.node('new');
    expect(row).toMatchObject({
      provision_state: 'active',
      instance_info: { ...demoInstance, hostname: 'new', traits: ['CUSTOM_SITE'] },
    });
    expect(await conductor.context().db.select().from(siteNodes).where(eq(siteNodes.name, 'new'))).toMatchObject([
      { nodeUuid: row['uuid'], instanceUuid: row['instance_uuid'], revisionId: 7, actionId: action.id },
    ]);
  });

  test('is left alone by the next action, which says what has changed since', async () => {
    const again = newAction();
    const before = await kindsOf('new');
    expect(inWords(await beat(node, { action: again, phase: 'prepare' }))).toEqual({
      state: 'done',
      remark: 'it was deployed already',
    });
    const other = { ...node, instanceInfo: { ...demoInstance, image_source: 'http://images.example/other.raw' } };
    expect(inWords(await beat(other, { action: again, phase: 'deploy' }))).toMatchObject({
      state: 'done',
      remark: expect.stringContaining('from revision 7; the documents say something else by now'),
    });
    expect(await kindsOf('new')).toEqual(before);
  });
});

describe('an order to break off', () => {
  test('amid cleaning leaves the machine off and free of work; the next action begins where that was', async () => {
    const machine = await newMachine();
    const node = documentOf('stopped', machine);
    const action = newAction();
    machine.faults.bootsNothing = true;
    await waitUntil('a flow to wait', async () => {
      await beat(node, { action, phase: 'prepare' });
      const row = await operator.node('stopped').catch(() => undefined);
      return row?.['provision_state'] === 'inspect wait' || undefined;
    });
    expect(inWords(await run(node, { action, phase: 'prepare', cancel: 'group g took too long' }))).toEqual({
      state: 'failed',
      error: 'group g took too long',
    });
    expect(await operator.node('stopped')).toMatchObject({
      provision_state: 'inspect failed',
      target_provision_state: null,
    });
    expect(machine.state()).toEqual(off);
    machine.faults.bootsNothing = false;
    const again = newAction();
    expect(await run(node, { action: again, phase: 'prepare' })).toEqual({ state: 'done' });
  });

  test('amid the deploy leaves it off in deploy failed, still reserved; the next action deploys it', async () => {
    const node = documentOf('stopped', machines.at(-1) as SimulatedNode);
    const machine = machines.at(-1) as SimulatedNode;
    const action = newAction();
    expect(await run(node, { action, phase: 'prepare' })).toMatchObject({ state: 'done' });
    machine.faults.bootsNothing = true;
    await machine.stopAgent();
    await waitUntil('the deploy to wait', async () => {
      await beat(node, { action, phase: 'deploy' });
      return (await operator.node('stopped'))['provision_state'] === 'wait call-back' || undefined;
    });
    expect(inWords(await run(node, { action, phase: 'deploy', cancel: 'stopped by bob' }))).toEqual({
      state: 'failed',
      error: 'stopped by bob',
    });
    const row = await operator.node('stopped');
    expect(row).toMatchObject({ provision_state: 'deploy failed', instance_uuid: expect.any(String) });
    expect(machine.state()).toEqual(off);
    machine.faults.bootsNothing = false;
    const again = newAction();
    expect(await run(node, { action: again, phase: 'prepare' })).toMatchObject({ state: 'done' });
    expect(await run(node, { action: again, phase: 'deploy' })).toEqual({ state: 'done' });
  });
});

describe('hardware that the documents speak of', () => {
  test('is set up once, by manual cleaning, before the inspection', async () => {
    const machine = await newMachine({ inspects: true });
    const biosSettings = [{ name: 'SysProfile', value: 'Performance' }];
    const node = documentOf('tuned', machine, { biosSettings });
    expect(await run(node, { action: newAction(), phase: 'prepare' })).toEqual({ state: 'done' });
    const way = ['verify succeeded', 'manual_clean succeeded', 'inspect succeeded', 'clean succeeded'];
    expect(await kindsOf('tuned')).toEqual(way);
    expect(inWords(await run(node, { action: newAction(), phase: 'prepare' }))).toEqual({
      state: 'done',
      remark: 'it was prepared already',
    });
    expect(await kindsOf('tuned')).toEqual(way);
  });
});

describe('a cleaning that fails', () => {
  test('fails the node, with the reason; the next action tries again, out of the maintenance that it has left', async () => {
    const machine = await newMachine({ cleanSteps: [{ step: 'wipe', priority: 50 }] });
    const node = documentOf('dirty', machine);
    machine.faults.failStep = { step: 'wipe', message: 'the disk is dead' };
    const failed = await run(node, { action: newAction(), phase: 'prepare' });
    expect(inWords(failed)).toMatchObject({
      state: 'failed',
      error: expect.stringMatching(/the disk is dead.*\(baton watch dirty\)$/),
    });
    expect(await operator.node('dirty')).toMatchObject({ provision_state: 'clean failed', maintenance: true });
    Reflect.deleteProperty(machine.faults, 'failStep');
    expect(await run(node, { action: newAction(), phase: 'prepare' })).toEqual({ state: 'done' });
    expect(await operator.node('dirty')).toMatchObject({ provision_state: 'available', maintenance: false });
  });

  test('in a step that must not be interrupted ends first, when it is to be broken off', async () => {
    const machine = await newMachine({ cleanSteps: [{ step: 'careful', priority: 50 }] });
    const node = documentOf('careful', machine);
    const action = newAction();
    const { promise: until, resolve: letItEnd } = Promise.withResolvers<void>();
    machine.faults.slowStep = { step: 'careful', until };
    await waitUntil('the step to run', async () => {
      const outcome = await beat(node, { action, phase: 'prepare' });
      return (outcome.state === 'working' && outcome.doing.arguments['step'] === 'deploy.careful') || undefined;
    });
    const cancel = 'group g took too long';
    // not in the moments in which the conductor is at the node
    const { uuid } = await operator.node('careful');
    await waitUntil('the abort to be taken', async () => {
      await beat(node, { action, phase: 'prepare', cancel });
      const flow = await findOpenFlow(conductor.context().db, String(uuid));
      return flow?.abortRequested ?? undefined;
    });
    expect(inWords(await beat(node, { action, phase: 'prepare', cancel }))).toMatchObject({
      state: 'working',
      doing: expect.stringContaining('breaking off when it has ended'),
    });
    letItEnd();
    expect(inWords(await run(node, { action, phase: 'prepare', cancel }))).toEqual({ state: 'failed', error: cancel });
    expect(await operator.node('careful')).toMatchObject({ provision_state: 'clean failed', maintenance: false });
    expect(machine.state()).toEqual(off);
  });
});

test('a conductor that dies again and again amid prepare and deploy brings the node to active all the same', async () => {
  const machine = await newMachine();
  const node = documentOf('mortal', machine);
  const action = newAction();
  conductor.atCheckpoints((_name, passed) => (passed % 7 === 0 ? 'die' : 'go on'));
  const before = conductor.deaths();
  for (const phase of ['prepare', 'deploy'] as const) {
    const outcome = await waitUntil(phase, async () => {
      const deaths = conductor.deaths();
      const found = await beat(node, { action, phase }).catch((error: unknown) => {
        if (conductor.deaths() > deaths) return undefined;
        throw error;
      });
      return found?.state === 'working' ? undefined : found;
    });
    expect(outcome).toEqual({ state: 'done' });
  }
  conductor.atCheckpoints(() => 'go on');
  expect(conductor.deaths()).toBeGreaterThan(before + 2);
  expect(await kindsOf('mortal')).toEqual([
    'verify succeeded',
    'inspect succeeded',
    'clean succeeded',
    'deploy succeeded',
  ]);
});
