import { textRemark } from '#conductor/model/remarks/remark.ts';
import { describeRemark } from '#conductor/model/remarks/remark-words.ts';
import type { GateLook, GateLooks } from '#conductor/model/site/health-gate.ts';
import { watchedCanaries } from '#conductor/model/site/rollout.ts';
import type { Decision, NodeOutcome, NodePhase, PhaseTimeouts, SiteRun } from '#conductor/model/site/site-run.ts';
import { applyDecisions, applyOutcomes } from '#conductor/sites/strategy/apply-decisions.ts';
import { decideGroups, hasEnded } from '#conductor/sites/strategy/decide.ts';
import { addAnswer, type GateAnswer } from '#conductor/sites/strategy/rollout/judge-gates.ts';
import { gatesToAsk } from '#conductor/sites/strategy/rollout/look-at-gates.ts';

export interface Simulation {
  /** Decides what becomes of a node's phase, and how many beats it takes. Default: done at once. */
  readonly outcome?: (node: string, phase: NodePhase) => { readonly state: 'done' | 'failed'; readonly beats?: number };
  readonly timeouts?: PhaseTimeouts;
  readonly beatMs?: number;
  /** Sees each beat: the run as it was stored, and what was decided on it. */
  readonly watch?: (
    run: SiteRun,
    decisions: readonly Decision[],
    now: number,
    paused: boolean,
    looks: GateLooks,
  ) => void;
  /** The conductor dies there before its decisions are recorded; the next one reads the run from the database. */
  readonly diesAt?: (beat: number) => boolean;
  /** Says of canaries why they are no longer in service; default: they are. */
  readonly outOfService?: (beat: number) => ReadonlyMap<string, string>;
  /** Number of skips that an operator has asked for until then; default: none. */
  readonly skips?: (beat: number) => number;
  /** Answers a gate's question at each beat; absent = it has not been asked. Default: it is good. */
  readonly gate?: (gate: string, beat: number) => GateAnswer | undefined;
}

export interface Simulated {
  readonly run: SiteRun;
  /** `prepare ntp-node: ntp01`, `cancel …`: in order. */
  readonly log: readonly string[];
  /** Each phase that was begun, with the group's name. */
  readonly begun: readonly { readonly node: string; readonly phase: NodePhase; readonly group: string }[];
  /** Number of pauses by itself; each is ended once nothing is at work. */
  readonly pauses: number;
}

const patience = 100_000;

/** Runs a site to its end without a machine: nodes do as instructed, beat by beat. @throws Error when it does not end */
export function simulateSite(start: SiteRun, simulation: Simulation = {}): Simulated {
  const { timeouts = { prepare: 1800, deploy: 3600 }, beatMs = 1000 } = simulation;
  const outcome: NonNullable<Simulation['outcome']> = simulation.outcome ?? (() => ({ state: 'done' }));
  const log: string[] = [];
  const begun: { node: string; phase: NodePhase; group: string }[] = [];
  const restsAt = new Map<string, number>();
  const ask = simulation.gate ?? (() => ({ isGood: true, said: 'HTTP 200' }));
  let looks: GateLooks = new Map();
  let run = start;
  let paused = false;
  let pauses = 0;
  for (let beat = 0; beat < patience; beat += 1) {
    const now = beat * beatMs;
    if (simulation.diesAt?.(beat) === true) {
      decideGroups(run, now, timeouts);
      run = structuredClone(run);
    }
    paused &&= [...run.nodes.values()].some(({ work }) => work !== undefined);
    const watched = watchedCanaries(run.groups);
    const said = simulation.outOfService?.(beat) ?? new Map<string, string>();
    const outOfService = new Map([...said].filter(([name]) => watched.includes(name)));
    looks = paused ? new Map() : lookAgain(looks, run, { now, ask: (gate) => ask(gate, beat) });
    const decisions = decideGroups(run, now, timeouts, {
      paused,
      outOfService,
      looks,
      skips: simulation.skips?.(beat) ?? 0,
    });
    simulation.watch?.(run, decisions, now, paused, looks);
    if (decisions.some(({ kind }) => kind === 'pause')) {
      paused = true;
      pauses += 1;
      looks = new Map();
    }
    run = applyDecisions(run, decisions, now);
    for (const decision of decisions) {
      log.push(describe(decision));
      if (decision.kind !== 'begin') continue;
      const { phase, group, nodes } = decision;
      for (const node of nodes) {
        begun.push({ node, phase, group });
        restsAt.set(node, beat + (outcome(node, phase).beats ?? 0));
      }
    }
    const outcomes = new Map<string, NodeOutcome>();
    for (const [name, { work }] of run.nodes) {
      if (!work || (work.cancelling === undefined && beat < (restsAt.get(name) ?? 0))) continue;
      const { state } = outcome(name, work.phase);
      if (work.cancelling !== undefined) outcomes.set(name, { state: 'failed', error: textRemark(work.cancelling) });
      else
        outcomes.set(
          name,
          state === 'done' ? { state } : { state, error: textRemark(`${work.phase} of ${name} failed`) },
        );
    }
    run = applyOutcomes(run, outcomes);
    if (hasEnded(run)) return { run, log, begun, pauses };
  }
  throw new Error(`the run has not ended after ${patience} beats`);
}

/** Asks all gates that decide on something; those that no longer do are forgotten, as their answers are no longer known. */
function lookAgain(
  looks: GateLooks,
  run: SiteRun,
  { now, ask }: { readonly now: number; readonly ask: (gate: string) => GateAnswer | undefined },
): GateLooks {
  return new Map(
    gatesToAsk(run, now).map(({ group, gates }) => {
      const seen = gates.flatMap(({ name }): [string, GateLook][] => {
        const before = looks.get(group)?.get(name);
        const answer = ask(name);
        const look = answer ? addAnswer(before, answer, now) : before;
        return look ? [[name, look]] : [];
      });
      return [group, new Map(seen)];
    }),
  );
}

function describe(decision: Decision): string {
  switch (decision.kind) {
    case 'enter stage':
      return `${decision.group}: ${decision.stage}`;
    case 'end group':
      return `${decision.group}: ${decision.stage}${decision.reason === undefined ? '' : ` (${decision.reason})`}`;
    case 'begin':
      return `${decision.phase} ${decision.group}: ${decision.nodes.join(' ')}`;
    case 'cancel':
      return `cancel ${decision.group}: ${decision.nodes.join(' ')} (${decision.reason})`;
    case 'canaries':
      return `${decision.group}: canaries ${decision.are}`;
    case 'skip':
      return `${decision.group}: skips ${decision.past ? describeRemark(decision.past) : 'nothing'}`;
    case 'settled':
      return `${decision.group}: ${decision.nodes} nodes ended`;
    case 'wait':
      return `${decision.group}: ${decision.reason ? describeRemark(decision.reason) : 'waits no longer'}`;
    case 'pause':
      return `${decision.group}: pauses (${describeRemark(decision.reason)})`;
    default:
      return decision satisfies never;
  }
}
