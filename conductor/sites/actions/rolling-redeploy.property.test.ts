import { expect, test } from 'vitest';
import { planRemoval } from '#conductor/cluster/etcd/plan-removal.ts';
import { type WatchedNode, whyNotReady } from '#conductor/cluster/kubernetes/node-watch.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import type { ProvisionState } from '#conductor/model/provision-states.ts';
import type { NodeOutcome, NodePhase } from '#conductor/model/site/site-run.ts';
import { planTeardownRun } from '#conductor/sites/actions/plan-teardown-run.ts';
import { settleRun, workingNodes } from '#conductor/sites/actions/settle-run.ts';
import { decideNode } from '#conductor/sites/nodes/decide-node.ts';
import type { NodeAct, ObservedDeploy } from '#conductor/sites/nodes/node-decision.ts';
import {
  inLine,
  nodeCase,
  observedAllocation,
  observedFlow,
  observedNode,
  siteNode,
  teardownOrder,
} from '#conductor/sites/nodes/testing/node-cases.ts';
import { applyOutcomes } from '#conductor/sites/strategy/apply-decisions.ts';
import * as fc from '#test/fuzz/fast-check.ts';

/**
 * A rolling redeploy, decided as the engine decides it (groups by `settleRun`, nodes by `decideNode`), of a cluster whose
 * nodes, flows, API and conductor fail as they like. A flow goes on by itself, as agents and clusters do.
 */

const beatMs = 1000;
const joinBeats = 40;
const beats = 2000;

/** Once in so many times. */
const seldom = (times: number) =>
  fc.oneof({ weight: times - 1, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) });
const anyWork = fc.record({ beats: fc.nat({ max: 5 }), fails: seldom(20) });
const anyFate = fc.record({
  drain: anyWork,
  wipe: anyWork,
  leave: anyWork,
  deploy: anyWork,
  /** Beats after its deploy. */
  join: fc.option(fc.nat({ max: 45 }), { nil: undefined, freq: 20 }),
  isImpostor: seldom(15),
});
type Fate = typeof anyFate extends fc.Arbitrary<infer Value> ? Value : never;

const anySchedule = fc.record({
  fates: fc.array(anyFate, { minLength: 2, maxLength: 6 }),
  minimum: fc.integer({ min: 1, max: 4 }),
  /** The API server and etcd are away for so long, from then on. */
  outages: fc.array(fc.record({ from: fc.nat({ max: 300 }), beats: fc.integer({ min: 1, max: 60 }) }), {
    maxLength: 3,
  }),
  /** The conductor dies: having decided nothing, or having begun what it decided and recorded nothing. */
  deaths: fc.array(fc.record({ beat: fc.nat({ max: 300 }), hasActed: fc.boolean() }), { maxLength: 20 }),
  /** The operator pauses, and goes on. */
  pauses: fc.array(fc.record({ from: fc.nat({ max: 300 }), beats: fc.integer({ min: 1, max: 30 }) }), { maxLength: 2 }),
});
type Schedule = typeof anySchedule extends fc.Arbitrary<infer Value> ? Value : never;

const entryOf = (name: string, life: number, boot: number): WatchedNode => ({
  metadata: { name, uid: `${name}-${life}`, resourceVersion: '1', creationTimestamp: new Date(0).toISOString() },
  status: {
    nodeInfo: { systemUUID: name, machineID: name, bootID: `${name}-boot-${boot}` },
    conditions: [{ type: 'Ready', status: 'True' }],
  },
});

interface State {
  /** In Kubernetes. */
  entry: WatchedNode | undefined;
  isRunning: boolean;
  isCordoned: boolean;
  isVoting: boolean;
  wasTouched: boolean;
  /** In Baton. */
  provisionState: ProvisionState;
  instance: 'earlier' | 'ours' | undefined;
  deployed: ObservedDeploy | undefined;
  open: { readonly kind: FlowKindName; readonly since: number } | undefined;
  last: { readonly kind: FlowKindName; readonly failed: boolean } | undefined;
  readonly succeeded: Set<FlowKindName>;
  deployedAt: number;
}

function newMember(name: string, fate: Fate) {
  const state: State = {
    entry: entryOf(name, 0, 0),
    isRunning: true,
    isCordoned: false,
    isVoting: true,
    wasTouched: false,
    provisionState: 'active',
    instance: 'earlier',
    deployed: { revisionId: 1, designHash: 'now', instanceUuid: 'instance-1', isAwaited: false },
    open: undefined,
    last: undefined,
    succeeded: new Set(),
    deployedAt: 0,
  };
  const isIn = (): boolean => state.isVoting && state.isRunning && !state.isCordoned && state.entry !== undefined;
  return { name, fate, state, isIn };
}
type Member = ReturnType<typeof newMember>;

/** Gives the facts that the database has of it. */
function factsOf({ state }: Member) {
  const { open, last } = state;
  const uuid = state.instance === undefined ? null : 'instance-1';
  const flow = open
    ? observedFlow({ kind: open.kind })
    : last && observedFlow({ kind: last.kind, state: last.failed ? 'failed' : 'succeeded', isOpen: false });
  return {
    node: observedNode({ provisionState: state.provisionState, instanceUuid: uuid }),
    ...(flow ? { flow } : {}),
    ...(uuid === null ? {} : { allocation: observedAllocation() }),
    ...(state.deployed ? { deployed: state.deployed } : {}),
    rest: { ...inLine, awaitsService: true, succeeded: state.succeeded },
  };
}

const flowOf: Readonly<Partial<Record<NodeAct['kind'], FlowKindName>>> = {
  decommission: 'decommission',
  'leave cluster': 'leave_cluster',
  deploy: 'deploy',
  'enter service': 'enter_service',
};

/** Acts as `actOnNode` does: what is begun is a flow, all else is done at once. */
function act({ state }: Member, what: NodeAct, beat: number): void {
  state.wasTouched = true;
  const kind = what.kind === 'verb' && what.wipes ? 'wipe' : flowOf[what.kind];
  if (kind) state.open = { kind, since: beat };
  if (kind === 'deploy') state.provisionState = 'deploying';
  if (kind === 'wipe') {
    // the release: a look from now on finds nothing of the instance
    Object.assign(state, { provisionState: 'cleaning', instance: undefined, deployed: undefined, isRunning: false });
  } else if (what.kind === 'verb' && what.verb === 'manage') state.provisionState = 'manageable';
  else if (what.kind === 'make available') Object.assign(state, { provisionState: 'available', instance: 'ours' });
  else if (what.kind === 'record') {
    state.deployed = { revisionId: 2, designHash: 'now', instanceUuid: 'instance-1', isAwaited: true };
  }
}

type Progress = 'succeeded' | 'failed' | undefined;

function runSchedule(
  { fates, minimum, outages, deaths, pauses }: Schedule,
  watch: (seen: { readonly out: readonly string[]; readonly voting: number }) => void,
) {
  const members = fates.map((fate, index) => newMember(`n${index}`, fate));
  const during = (spans: Schedule['outages'], beat: number): boolean =>
    spans.some(({ from, beats: long }) => beat >= from && beat < from + long);
  const after = (work: Fate['wipe'], since: number, beat: number): Progress => {
    if (beat < since + work.beats) return undefined;
    return work.fails ? 'failed' : 'succeeded';
  };

  /** Gives the progress of a flow's own steps; they look at the clusters themselves. */
  const progress = (member: Member, kind: FlowKindName, since: number, beat: number): Progress => {
    const { name, fate, state } = member;
    const isAway = during(outages, beat);
    if (kind === 'decommission') {
      if (isAway) return undefined;
      state.isCordoned = true;
      const drained = after(fate.drain, since, beat);
      if (drained !== 'succeeded') return drained;
      const view = members
        .filter((each) => each.state.isVoting)
        .map(({ name: id }, index) => ({
          id,
          name: id,
          peerUrls: [],
          isLearner: false,
          state: 'healthy' as const,
          raftIndex: BigInt(index),
        }));
      const plan = planRemoval({ members: view, leader: view[0]?.id ?? name }, new Set([name]), minimum);
      if (plan.act === 'refuse') return 'failed';
      state.isVoting = false;
      return 'succeeded';
    }
    if (kind === 'wipe') {
      const end = after(fate.wipe, since, beat);
      if (end) state.provisionState = end === 'failed' ? 'clean failed' : 'manageable';
      return end;
    }
    if (kind === 'leave_cluster') {
      const end = isAway ? undefined : after(fate.leave, since, beat);
      if (end === 'succeeded') Object.assign(state, { entry: undefined, isCordoned: false });
      return end;
    }
    if (kind === 'deploy') {
      const end = after(fate.deploy, since, beat);
      if (end) state.provisionState = end === 'failed' ? 'deploy failed' : 'active';
      if (end === 'succeeded') Object.assign(state, { isRunning: true, deployedAt: beat });
      return end;
    }
    const earlier = { uids: [`${name}-0`], bootIds: [`${name}-boot-0`], deployedAfter: state.deployedAt * beatMs };
    if (!isAway && whyNotReady(state.entry, earlier) === undefined && state.isVoting) {
      if (state.deployed) state.deployed = { ...state.deployed, isAwaited: false };
      return 'succeeded';
    }
    return beat >= since + joinBeats ? 'failed' : undefined;
  };

  /** Changes what the world does meanwhile, whatever becomes of the conductor. */
  const joins = ({ name, fate, state }: Member, beat: number): void => {
    if (!state.succeeded.has('deploy') || fate.join === undefined || beat < state.deployedAt + fate.join) return;
    state.entry = entryOf(name, 1, fate.isImpostor ? 0 : 1);
    state.isVoting = !fate.isImpostor;
  };

  const advance = (
    member: Member,
    phase: NodePhase,
    { beat, paused }: { beat: number; paused: boolean },
  ): NodeOutcome => {
    const { state } = member;
    const { open } = state;
    const end = open && progress(member, open.kind, open.since, beat);
    if (open && end) {
      Object.assign(state, { open: undefined, last: { kind: open.kind, failed: end === 'failed' } });
      if (end === 'succeeded') state.succeeded.add(open.kind);
    }
    const order = { node: { ...siteNode, name: member.name }, phase, teardown: teardownOrder, paused };
    const decision = decideNode(nodeCase(factsOf(member), { order }));
    if (decision.kind === 'outcome') return decision.outcome;
    act(member, decision.act, beat);
    return decision.ends ?? { state: 'working', doing: decision.doing };
  };

  const timeouts = { prepare: 1800, deploy: 3600 };
  let run = planTeardownRun({ timeouts }, { target_nodes: members.map(({ name }) => name) });
  for (let beat = 0; beat < beats; beat += 1) {
    for (const member of members) joins(member, beat);
    const paused = during(pauses, beat);
    const settled = settleRun(run, { request: paused ? 'hold' : 'run', now: beat * beatMs, timeouts });
    if (settled.isOver) return { run: settled.run, members };
    const death = deaths.find((each) => each.beat === beat);
    if (death && !death.hasActed) continue;
    const outcomes = workingNodes(settled.run).flatMap(([name, { work }]) => {
      const member = members.find((each) => each.name === name);
      return member ? [[name, advance(member, work.phase, { beat, paused })] as const] : [];
    });
    watch({
      out: members.filter((each) => !each.isIn()).map(({ name }) => name),
      voting: members.filter(({ state }) => state.isVoting).length,
    });
    // what was decided is recorded before it is begun, what came of it after
    run = death ? settled.run : applyOutcomes(settled.run, new Map(outcomes));
  }
  throw new Error(`the run has not ended after ${beats} beats`);
}

test('whatever joins, fails, dies, pauses or is away: one member out at most, never below minimum_members', () => {
  const seen = { succeeded: 0, failed: 0 };
  fc.assert(
    fc.property(anySchedule, (schedule) => {
      const { run, members } = runSchedule(schedule, ({ out, voting }) => {
        expect(out.length).toBeLessThanOrEqual(1);
        expect(voting).toBeGreaterThanOrEqual(Math.min(schedule.minimum, schedule.fates.length));
      });
      const ends = members.map(({ name }) => run.nodes.get(name)?.status);
      const firstFailed = ends.findIndex((end) => end !== 'success');
      seen[firstFailed < 0 ? 'succeeded' : 'failed'] += 1;
      // what counts as deployed is in service, and what comes after a failure is not touched
      const deployed = members.filter((_, index) => ends[index] === 'success');
      expect(deployed.filter(({ isIn, state }) => !isIn() || state.deployed?.isAwaited !== false)).toEqual([]);
      const later = members.filter((_, index) => firstFailed >= 0 && index > firstFailed);
      expect(later.filter(({ state }) => state.wasTouched)).toEqual([]);
    }),
    { numRuns: 500, seed: 15 },
  );
  expect(Math.min(seen.succeeded, seen.failed)).toBeGreaterThan(25);
});
