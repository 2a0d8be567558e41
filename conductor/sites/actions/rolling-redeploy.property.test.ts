import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { planRemoval } from '#conductor/cluster/etcd/plan-removal.ts';
import { whyNotReady } from '#conductor/cluster/kubernetes/judge-registration.ts';
import type { WatchedNode } from '#conductor/cluster/kubernetes/node-watch.ts';
import { textRemark } from '#conductor/model/remark.ts';
import type { NodeOutcome } from '#conductor/model/site-run.ts';
import { planTeardownRun } from '#conductor/sites/actions/plan-teardown-run.ts';
import { settleRun, workingNodes } from '#conductor/sites/actions/settle-run.ts';
import { applyOutcomes } from '#conductor/sites/strategy/apply-decisions.ts';

/** A rolling redeploy, decided as the engine decides it, of a cluster whose nodes, API and conductor fail as they like. */

const beatMs = 1000;
const joinBeats = 40;
const beats = 1000;

const anyFate = fc.record({
  wipe: fc.record({ beats: fc.nat({ max: 5 }), fails: fc.constantFrom(false, false, false, true) }),
  /** Beats after its deploy began. */
  join: fc.option(fc.nat({ max: 60 }), { nil: undefined, freq: 6 }),
  isImpostor: fc.constantFrom(false, false, false, true),
});
type Fate = typeof anyFate extends fc.Arbitrary<infer Value> ? Value : never;

const anySchedule = fc.record({
  fates: fc.array(anyFate, { minLength: 2, maxLength: 6 }),
  minimum: fc.integer({ min: 1, max: 5 }),
  /** The API server is away for so long, from then on. */
  outages: fc.array(fc.record({ from: fc.nat({ max: 200 }), beats: fc.integer({ min: 1, max: 60 }) }), {
    maxLength: 3,
  }),
  /** The conductor dies with what it has decided, and the next one reads what was recorded. */
  deaths: fc.array(fc.nat({ max: 200 }), { maxLength: 20 }),
});
type Schedule = typeof anySchedule extends fc.Arbitrary<infer Value> ? Value : never;

const entryOf = (name: string, life: number, boot: number): WatchedNode => ({
  metadata: { name, uid: `${name}-${life}`, resourceVersion: '1', creationTimestamp: new Date(0).toISOString() },
  status: {
    nodeInfo: { systemUUID: name, machineID: name, bootID: `${name}-boot-${boot}` },
    conditions: [{ type: 'Ready', status: 'True' }],
  },
});

/** One node: what the cluster has of it, and how far its redeploy is. */
function newMember(name: string, fate: Fate) {
  const state: { entry: WatchedNode | undefined; isVoting: boolean; removedAt?: number; deployedAt?: number } = {
    entry: entryOf(name, 0, 0),
    isVoting: true,
  };
  return { name, fate, state, isIn: () => state.isVoting && state.entry?.status?.nodeInfo?.bootID !== undefined };
}

function runSchedule({ fates, minimum, outages, deaths }: Schedule, watch: (out: string[]) => void) {
  const members = fates.map((fate, index) => newMember(`n${index}`, fate));
  const isAway = (beat: number) => outages.some(({ from, beats: long }) => beat >= from && beat < from + long);
  const failed = (why: string): NodeOutcome => ({ state: 'failed', error: textRemark(why) });

  const tearDown = ({ name, fate, state }: (typeof members)[number], beat: number): NodeOutcome | undefined => {
    if (state.removedAt === undefined) {
      if (isAway(beat)) return undefined;
      const view = members
        .filter((each) => each.state.isVoting)
        .map((each, index) => ({
          id: each.name,
          name: each.name,
          peerUrls: [],
          isLearner: false,
          state: 'healthy' as const,
          raftIndex: BigInt(index),
        }));
      const plan = planRemoval({ members: view, leader: view[0]?.id ?? name }, new Set([name]), minimum);
      if (plan.act === 'refuse') return failed(plan.reason);
      Object.assign(state, { entry: undefined, isVoting: false, removedAt: beat });
    }
    if (beat < (state.removedAt ?? 0) + fate.wipe.beats) return undefined;
    return fate.wipe.fails ? failed('wipe') : { state: 'done' };
  };

  const deploy = ({ name, fate, state }: (typeof members)[number], beat: number): NodeOutcome | undefined => {
    state.deployedAt ??= beat;
    if (fate.join !== undefined && beat >= state.deployedAt + fate.join) {
      state.entry = entryOf(name, 1, fate.isImpostor ? 0 : 1);
      state.isVoting = !fate.isImpostor;
    }
    const earlier = { uids: [`${name}-0`], bootIds: [`${name}-boot-0`], deployedAfter: state.deployedAt * beatMs };
    if (!isAway(beat) && whyNotReady(state.entry, earlier) === undefined && state.isVoting) return { state: 'done' };
    return beat >= state.deployedAt + joinBeats ? failed('not in service') : undefined;
  };

  const timeouts = { prepare: 1800, deploy: 3600 };
  let run = planTeardownRun({ timeouts }, { target_nodes: members.map(({ name }) => name) });
  for (let beat = 0; beat < beats; beat += 1) {
    const settled = settleRun(run, { request: 'run', now: beat * beatMs, timeouts });
    if (settled.isOver) return { run: settled.run, members };
    if (deaths.includes(beat)) continue;
    ({ run } = settled);
    const outcomes = workingNodes(run).flatMap(([name, { work }]) => {
      const member = members.find((each) => each.name === name);
      const outcome = member && (work.phase === 'prepare' ? tearDown : deploy)(member, beat);
      return outcome ? [[name, outcome] as const] : [];
    });
    watch(members.filter((each) => !each.isIn()).map(({ name }) => name));
    run = applyOutcomes(run, new Map(outcomes));
  }
  throw new Error(`the run has not ended after ${beats} beats`);
}

test('whatever joins, fails, dies or is away: one member out at most, never below minimum_members', () => {
  fc.assert(
    fc.property(anySchedule, (schedule) => {
      const { run, members } = runSchedule(schedule, (out) => {
        expect(out.length).toBeLessThanOrEqual(1);
        const least = out.length === 0 ? 0 : schedule.minimum;
        expect(schedule.fates.length - out.length).toBeGreaterThanOrEqual(least);
      });
      const ends = members.map(({ name }) => run.nodes.get(name)?.status);
      const firstFailed = ends.findIndex((end) => end !== 'success');
      // what comes after a failure is not touched
      const after = firstFailed < 0 ? [] : members.slice(firstFailed + 1);
      expect(after.filter(({ state }) => state.removedAt !== undefined)).toEqual([]);
    }),
    { numRuns: 300, seed: 15 },
  );
});
