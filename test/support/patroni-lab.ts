import { waitUntil } from '#test/lab/wait-until.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { deployedDisk } from '#test/support/conductor-pair.ts';
import { demoInstance, enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { type PatroniPair, startPatroniPair } from '#test/support/patroni.ts';

/** A conductor on a database under Patroni, with machines to be deployed and nodes to be allocated. */
export interface PatroniLab {
  readonly pair: PatroniPair;
  /** Changes the leader amid deploys of all machines and as many allocations, and looks what became of them. */
  disturb(strike: () => Promise<unknown>): Promise<Disturbed>;
  close(): Promise<void>;
}

export interface Disturbed {
  /** Longest time between two writes of the conductor that were answered. */
  readonly seconds: number;
  /** Number of allocations that were answered at the first call: one before `strike` at least. */
  readonly answered: number;
  /** Allocations that were answered and are not there. */
  readonly lost: readonly string[];
  /** Nodes that were given twice, machines that were booted or written otherwise than by one deploy. */
  readonly doubled: readonly string[];
  /** Nodes in maintenance. */
  readonly held: readonly string[];
  /** Causes in `/readyz`, which answers that the conductor can serve. */
  readonly causes: Readonly<Record<string, string>>;
}

interface Scene extends Omit<PatroniLab, 'disturb' | 'close'> {
  readonly conductor: ConductorProcess;
  readonly operator: Operator;
  readonly machines: readonly SimulatedNode[];
  readonly names: readonly string[];
}

const count = 4;
const resourceClass = 'spare';
const everyMs = 20;
const indexes = Array.from({ length: count }, (_, index) => index);

export async function startPatroniLab(): Promise<PatroniLab> {
  await using opening = new AsyncDisposableStack();
  const pair = await startPatroniPair();
  opening.defer(() => pair.close());
  const conductor = await prepareConductor(pair.settings);
  opening.defer(() => conductor.close());
  await conductor.start();
  const operator = createOperator(conductor.url, { retries: 30 });
  const machines = await Promise.all(
    indexes.map((index) =>
      startSimulatedNode({ conductorUrl: () => conductor.url, mac: `52:54:00:00:37:0${index}`, stepMs: 200 }),
    ),
  );
  opening.defer(async () => void (await Promise.all(machines.map((machine) => machine.close()))));
  const names = await Promise.all(
    machines.map((machine, index) => enrolSimulatedNode(operator, machine, `machine-${index}`)),
  );
  await createFake(operator, 'written', {});
  for (const index of indexes) await makeSpare(operator, `spare-${index}`);
  const opened = opening.move();
  return {
    pair,
    disturb: (strike) => disturb({ pair, conductor, operator, machines, names }, strike),
    close: () => opened.disposeAsync(),
  };
}

const createFake = (operator: Operator, name: string, more: Readonly<Record<string, unknown>>) =>
  operator.call('POST', '/v1/nodes', { name, driver: 'fake-hardware', automated_clean: false, ...more });

async function makeSpare(operator: Operator, name: string): Promise<void> {
  await createFake(operator, name, { resource_class: resourceClass });
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  await operator.provision(name, 'provide');
  await operator.waitForState(name, 'available');
}

async function disturb(scene: Scene, strike: () => Promise<unknown>): Promise<Disturbed> {
  const { pair, conductor, operator, machines, names } = scene;
  await pair.synchronous();
  const before = machines.map((machine) => ({ acts: machine.disk.length, boots: machine.boots() }));
  const isWriting = (machine: SimulatedNode, index: number): boolean =>
    machine.disk.length > (before[index]?.acts ?? 0) && machine.state().runs === 'ramdisk';
  await Promise.all(names.map((name) => operator.provision(name, 'active')));
  await waitUntil('a disk to be written', () => machines.some(isWriting) || undefined, { everyMs });
  const first = await allocate(conductor.url, ['asked-0']);
  const others = indexes.slice(1).map((index) => `asked-${index}`);
  const answering = allocate(conductor.url, others);
  const seconds = await longestGap(operator, strike());
  const answered = [...first, ...(await answering)];
  for (const name of names) await operator.waitForState(name, 'active');
  const given = await waitUntil('each allocation to have its node', async () => {
    const all = await allocations(operator);
    return [...all.values()].every((node) => node !== null) ? all : undefined;
  });
  const nodes = [...given.values()];
  const disagreeing = machines.filter((machine, index) => {
    const { acts = 0, boots = 0 } = before[index] ?? {};
    return machine.boots() - boots !== 2 || machine.disk.slice(acts).join() !== deployedDisk.join();
  });
  const ready = await fetch(`${conductor.url}/readyz`);
  if (!ready.ok) throw new Error(`/readyz answers ${ready.status}: ${await ready.text()}`);
  const { causes = {} } = (await ready.json()) as { causes?: Record<string, string> };
  const held = await heldNodes(operator);
  await tidy(scene, [...given.keys()]);
  return {
    seconds,
    answered: answered.length,
    lost: answered.filter((name) => !given.has(name)),
    doubled: [
      ...nodes.filter((node, index) => nodes.indexOf(node) !== index).map(String),
      ...disagreeing.map(({ mac }) => mac),
    ],
    held,
    causes,
  };
}

/** Asks for all at once, each once. @returns names of those that were answered */
async function allocate(url: string, names: readonly string[]): Promise<string[]> {
  const operator = createOperator(url);
  const asked = names.map((name) => operator.call('POST', '/v1/allocations', { name, resource_class: resourceClass }));
  const answers = await Promise.allSettled(asked);
  return names.filter((_, index) => answers[index]?.status === 'fulfilled');
}

/** Which node each allocation has, by its name. */
async function allocations(operator: Operator): Promise<ReadonlyMap<string, string | null>> {
  const answer = await operator.call('GET', '/v1/allocations');
  const rows = answer['allocations'] as readonly { readonly name: string; readonly node_uuid: string | null }[];
  return new Map(rows.map((each) => [each.name, each.node_uuid]));
}

/** Longest time between two writes, of which the last begins once `striking` has ended. */
async function longestGap(operator: Operator, striking: Promise<unknown>): Promise<number> {
  const state = { struck: false };
  const ended = Promise.allSettled([striking]).then(() => {
    state.struck = true;
  });
  let longestMs = 0;
  let isLast = false;
  let since = performance.now();
  while (!isLast) {
    isLast = state.struck;
    const change = [{ op: 'add', path: '/extra/at', value: since }];
    await waitUntil('a write', () => operator.call('PATCH', '/v1/nodes/written', change), { everyMs });
    longestMs = Math.max(longestMs, performance.now() - since);
    since = performance.now();
  }
  await ended;
  await striking;
  return longestMs / 1000;
}

async function heldNodes(operator: Operator): Promise<string[]> {
  const { nodes } = (await operator.call('GET', '/v1/nodes/detail')) as {
    nodes: { name: string; maintenance: boolean }[];
  };
  return nodes.filter(({ maintenance }) => maintenance).map(({ name }) => name);
}

async function tidy({ operator, names }: Scene, given: readonly string[]): Promise<void> {
  for (const name of given) await operator.call('DELETE', `/v1/allocations/${name}`);
  for (const name of names) {
    await operator.provision(name, 'deleted');
    await operator.waitForState(name, 'available');
    await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/instance_info', value: demoInstance }]);
  }
}
