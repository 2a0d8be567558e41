import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFailed, onTestFinished, test } from 'vitest';
import type { ActionAnswer } from '#conductor/api/actions.ts';
import { run } from '#shared/process/run.ts';
import type { NodeFaults } from '#test/simulators/node/simulated-hardware.ts';
import { prepareConductor } from '#test/support/conductor.ts';
import { createOperator } from '#test/support/operator.ts';
import { batonProgram } from '#test/support/programs.ts';
import {
  bmcCredential,
  type SimulatedSite,
  type SiteMember,
  startSimulatedSite,
} from '#test/support/simulated-site.ts';
import { createSiteOperator, type SiteOperator } from '#test/support/site-operator.ts';

/**
 * Seed 000's example: its strategy of five groups, and its three worked runs, over simulated machines through Redfish,
 * real agents and the command line.
 */
const example = 'conductor/sites/documents/example/strategy.yaml';
const members: readonly SiteMember[] = [
  { name: 'ntp01', rack: 'rack03', tags: ['ntp'] },
  { name: 'control01', rack: 'rack03', tags: ['control'] },
  { name: 'control02', rack: 'rack03', tags: ['control'] },
  { name: 'control03', rack: 'rack03', tags: ['control'] },
  { name: 'compute11', rack: 'rack01', tags: ['compute'] },
  { name: 'compute21', rack: 'rack02', tags: ['compute'] },
  { name: 'compute22', rack: 'rack02', tags: ['compute'] },
  { name: 'monitor01', rack: 'rack01', tags: ['monitoring'] },
];
const membersOf = {
  'ntp-node': ['ntp01'],
  'control-nodes': ['control01', 'control02', 'control03'],
  'compute-nodes-1': ['compute11'],
  'compute-nodes-2': ['compute21', 'compute22'],
  'monitoring-nodes': ['monitor01'],
} as const;
type Group = keyof typeof membersOf;
const groups = Object.keys(membersOf) as Group[];
const parents: Readonly<Record<Group, readonly Group[]>> = {
  'ntp-node': [],
  'control-nodes': ['ntp-node'],
  'compute-nodes-1': ['control-nodes'],
  'compute-nodes-2': ['control-nodes'],
  'monitoring-nodes': [],
};

interface Run {
  readonly action: ActionAnswer;
  readonly exitCode: number;
  /** Output of `baton action create deploy_site --wait`. */
  readonly printed: string;
  readonly operator: SiteOperator;
  readonly machines: SimulatedSite['machines'];
  /** By node, as its machine saw them: when its first and its last in-band step ran. */
  readonly worked: ReadonlyMap<string, { readonly from: number; readonly to: number }>;
  readonly states: Readonly<Record<string, unknown>>;
}

/** A new site, with these faults, deployed by the command line. */
async function deploySite(faults: Readonly<Record<string, NodeFaults>>): Promise<Run> {
  const process = await prepareConductor({ BATON_FAST_TRACK: 'true' });
  onTestFinished(() => process.close());
  onTestFailed(() => console.error(process.log().slice(-6000)));
  await process.start();
  const site = await startSimulatedSite(members, { conductorUrl: () => process.url });
  onTestFinished(() => site.close());
  const { machines } = site;
  for (const [name, fault] of Object.entries(faults)) Object.assign(machines.get(name)?.faults ?? {}, fault);
  const folder = await mkdtemp(join(tmpdir(), 'baton-site-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'site.yaml');
  await writeFile(file, `${site.documents}${await readFile(example, 'utf8')}`);

  const { name, account } = bmcCredential;
  const printed: string[] = [];
  onTestFailed(() => console.error(printed.join('\n')));
  const baton = (args: readonly string[], okExitCodes = [0]) =>
    run(batonProgram, args, {
      env: { BATON_URL: process.url },
      input: account.password,
      okExitCodes,
      timeoutMs: 600_000,
      onStdoutLine: (line) => void printed.push(line),
    });
  await baton(['credential', 'set', name, `username=${account.username}`, 'password=@-']);
  await baton(['site', 'upload', 'site', file]);
  await baton(['site', 'commit']);
  const { exitCode } = await baton(['action', 'create', 'deploy_site', '--wait'], [0, 1]);

  const operator = createSiteOperator(process.url);
  const [newest] = await operator.call<ActionAnswer[]>('GET', '/actions');
  const action = await operator.action(newest?.id ?? '');
  const worked = new Map(
    [...machines].flatMap(([node, { stepTimes }]) => {
      const [first, last] = [stepTimes.at(0), stepTimes.at(-1)];
      return first && last ? [[node, { from: first.startedAt, to: last.endedAt }] as const] : [];
    }),
  );
  const { nodes } = (await createOperator(process.url).call('GET', '/v1/nodes')) as {
    nodes: { name: string; provision_state: string }[];
  };
  const states = Object.fromEntries(nodes.map((node) => [node.name, node.provision_state]));
  return { action, exitCode, printed: printed.join('\n'), operator, machines, worked, states };
}

const stagesOf = (action: ActionAnswer) =>
  Object.fromEntries((action.groups ?? []).map((each) => [each.name, each.stage]));
const reasonOf = (action: ActionAnswer, name: Group) => action.groups?.find((each) => each.name === name)?.reason;
const stateOfNodes = (names: readonly string[], state: string) =>
  Object.fromEntries(names.map((name) => [name, state]));

/** One group at a time, each after its dependencies: by the machines' own clocks. */
function expectAllowedOrder(worked: Run['worked']): void {
  const spans = groups.flatMap((name) => {
    const seen = membersOf[name].flatMap((node) => worked.get(node) ?? []);
    if (seen.length === 0) return [];
    return [{ name, from: Math.min(...seen.map(({ from }) => from)), to: Math.max(...seen.map(({ to }) => to)) }];
  });
  const order = spans.toSorted((a, b) => a.from - b.from);
  const overlaps = order.filter(({ from }, index) => from <= (order[index - 1]?.to ?? 0));
  expect(overlaps).toEqual([]);
  const early = order.filter(({ name }, index) => {
    const done = order.slice(0, index).map((each) => each.name);
    return !parents[name].every((parent) => done.includes(parent));
  });
  expect(early).toEqual([]);
}

async function tagsOf({ operator, action }: Run): Promise<string[]> {
  const revision = await operator.call<{ tags: object }>('GET', `/revisions/${action.committed_rev_id}`);
  return Object.keys(revision.tags);
}

describe("the seed's three runs", () => {
  test('all succeed', async () => {
    const done = await deploySite({});
    expect(done.exitCode).toBe(0);
    expect(done.action.action_lifecycle).toBe('Complete');
    expect(stagesOf(done.action)).toEqual(stateOfNodes(groups, 'success'));
    expect(done.states).toEqual(
      stateOfNodes(
        members.map(({ name }) => name),
        'active',
      ),
    );
    expectAllowedOrder(done.worked);
    expect(done.worked.size).toBe(members.length);
    expect(await tagsOf(done)).toContain('site-action-success');
  });

  test('ntp-node fails in prepare: all that depends on it is not touched, monitoring-nodes succeeds', async () => {
    const failStep = { step: 'erase_devices_metadata', message: 'the disk is dead' };
    const done = await deploySite({ ntp01: { failStep } });
    expect(done.exitCode).toBe(1);
    expect(done.action.action_lifecycle).toBe('Failed');
    expect(stagesOf(done.action)).toEqual({
      'ntp-node': 'failure',
      'control-nodes': 'failure',
      'compute-nodes-1': 'failure',
      'compute-nodes-2': 'failure',
      'monitoring-nodes': 'success',
    });
    expect(reasonOf(done.action, 'control-nodes')).toContain('ntp-node');
    const untouched = groups.slice(1, 4).flatMap((name) => [...membersOf[name]]);
    expect(untouched.filter((name) => done.machines.get(name)?.boots() !== 0)).toEqual([]);
    const nodes = await done.operator.actionNodes(done.action.id);
    expect(Object.fromEntries(nodes.map(({ name, status }) => [name, status]))).toEqual({
      ...stateOfNodes(untouched, 'not_started'),
      ntp01: 'failure',
      monitor01: 'success',
    });
    expect(done.states).toMatchObject({ ntp01: 'clean failed', monitor01: 'active' });
    expect(done.printed).toContain('the disk is dead');
    expect(await tagsOf(done)).toContain('site-action-failure');
  });

  test('compute-nodes-2 fails in deploy: it is not critical, the action succeeds', async () => {
    const failStep = { step: 'write_image', message: 'no space left' };
    const done = await deploySite({ compute21: { failStep }, compute22: { failStep } });
    expect(done.exitCode).toBe(0);
    expect(done.action.action_lifecycle).toBe('Complete');
    expect(stagesOf(done.action)).toEqual({ ...stateOfNodes(groups, 'success'), 'compute-nodes-2': 'failure' });
    const misses = done.action.groups?.find(({ name }) => name === 'compute-nodes-2')?.misses;
    expect(misses).toEqual([{ criterion: 'percent_successful_nodes', needed: 50, actual: 0 }]);
    expect(done.states).toMatchObject({ compute21: 'deploy failed', compute22: 'deploy failed', compute11: 'active' });
    expectAllowedOrder(done.worked);
    expect(done.printed).toContain('no space left');
  });
});
