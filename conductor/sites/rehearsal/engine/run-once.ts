import type { Remark } from '#conductor/model/remarks/remark.ts';
import { textRemark } from '#conductor/model/remarks/remark.ts';
import type { GateLook, GateLooks, HealthGate } from '#conductor/model/site/health-gate.ts';
import type { Decision, NodeOutcome, NodePhase, PhaseTimeouts, SiteRun } from '#conductor/model/site/site-run.ts';
import { isAtRest, pauseIn, settleRun, workingNodes } from '#conductor/sites/actions/settle-run.ts';
import { type MostOut, newOutCounter } from '#conductor/sites/rehearsal/engine/count-out.ts';
import type { DrawnPhase } from '#conductor/sites/rehearsal/engine/draw-phase.ts';
import { type Moments, newMoments } from '#conductor/sites/rehearsal/engine/moments.ts';
import { applyOutcomes } from '#conductor/sites/strategy/apply-decisions.ts';
import { addAnswer } from '#conductor/sites/strategy/rollout/judge-gates.ts';
import { gatesToAsk } from '#conductor/sites/strategy/rollout/look-at-gates.ts';
import { nextOpening } from '#conductor/sites/strategy/rollout/window.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** An action that is rehearsed. Plain values. */
export interface Scene {
  /** The run before its first moment. */
  readonly start: SiteRun;
  readonly timeouts: PhaseTimeouts;
  /** When it would begin: windows are open or closed then. Milliseconds since 1970. */
  readonly beginsAt: number;
  /** Rack of each node that has one. */
  readonly racks: ReadonlyMap<string, string>;
}

/** A moment of a rehearsed action, in milliseconds from its beginning. */
export interface Moment {
  readonly ms: number;
  /** Nothing that it follows from took a time that nobody knows. */
  readonly isKnown: boolean;
}

/** Course of a node or a group; absent = it did not come to that. */
export interface Span {
  readonly begins?: Moment;
  readonly ends?: Moment;
}

/** One rehearsed run of an action. */
export interface RehearsedRun {
  /** The run at its end. */
  readonly run: SiteRun;
  readonly groups: ReadonlyMap<string, Span>;
  readonly nodes: ReadonlyMap<string, Span>;
  readonly ends: Moment;
  readonly mostOut: MostOut;
  /** The action has paused by itself: what was at work has ended, and a person says how it goes on. */
  readonly pause?: { readonly group: string; readonly reason: Remark };
}

interface Options {
  /** Says of each phase that is begun how long it takes, and what it comes to. */
  readonly draw: (node: string, phase: NodePhase) => DrawnPhase;
  /** Sees each decision, in order. @param ms from the beginning */
  readonly watch?: (decision: Decision, ms: number) => void;
}

/** An end of a node's phase, or a time at which the engine has something to decide. */
type Happening = { readonly node: string; readonly phase: NodePhase; readonly drawn: DrawnPhase } | undefined;

/** State of a run that is under way. */
interface State {
  readonly moments: Moments<Happening>;
  readonly groups: Map<string, Span>;
  readonly nodes: Map<string, Span>;
  /** Nodes of which a phase took a time that nobody knows. */
  readonly vague: Set<string>;
  /** When the first such phase began: what begins later may follow from its end. */
  vagueSince: number;
  /** Nodes that something has become of since they were counted. */
  readonly changed: Set<string>;
}

/** Turns after which a run that gets nowhere is given up: each node has two phases, and some moments of its own. */
const turnsPerNode = 64;

/**
 * Runs an action in time that is only counted: the engine's own decisions on what is drawn for its nodes, from one moment at
 * which something happens to the next. Canaries stay in service, and health gates are good as soon as they are asked. Pure,
 * but for what `draw` does.
 * @throws AppError `internal` when it comes to no end
 */
export function runOnce(scene: Scene, { draw, watch }: Options): RehearsedRun {
  const { start, timeouts, beginsAt } = scene;
  const state: State = {
    moments: newMoments(),
    groups: new Map(),
    nodes: new Map(),
    vague: new Set(),
    vagueSince: Number.POSITIVE_INFINITY,
    changed: new Set(),
  };
  const counter = newOutCounter(start, scene.racks);
  let now = beginsAt;
  let run = start;
  let looks: GateLooks = new Map();
  let pause: RehearsedRun['pause'];
  const most = turnsPerNode * (start.nodes.size + start.groups.length + 1);
  for (let turn = 0; turn < most; turn += 1) {
    looks = pause ? new Map() : lookAgain(state, looks, run, now);
    const settled = settleRun(run, { request: pause ? 'hold' : 'run', now, timeouts, looks });
    const found = pauseIn(settled.decisions);
    if (found) pause = { group: found.group, reason: found.reason };
    ({ run } = settled);
    for (const decision of settled.decisions) {
      watch?.(decision, now - beginsAt);
      follow(state, { scene, run, now, draw }, decision);
    }
    counter.look(run, state.changed);
    state.changed.clear();
    if (settled.isOver || (pause && isAtRest(run)))
      return finish(state, { run, now, scene, pause, mostOut: counter.most() });
    // gates of a group that has just begun are asked at once
    if (!pause && hasUnasked(looks, run, now)) continue;
    const outcomes = cancelledIn(run);
    if (outcomes.size === 0) {
      const next = state.moments.next();
      if (next === undefined) {
        // a window that never opens, or an engine that waits for what nobody does
        return finish(state, { run, now, scene, pause, mostOut: counter.most() });
      }
      now = Math.max(now, next);
      for (const happening of state.moments.due(now)) {
        if (happening && isOf(run, happening)) outcomes.set(happening.node, happening.drawn.outcome);
      }
    }
    run = applyOutcomes(run, outcomes);
    for (const name of outcomes.keys()) end(state, run, name, now - beginsAt);
  }
  throw new AppError('internal', `rehearse: the action has not ended after ${most} moments`);
}

interface Following {
  readonly scene: Scene;
  readonly run: SiteRun;
  readonly now: number;
  readonly draw: Options['draw'];
}

/** Notes a decision, and the moments at which something follows from it. */
function follow(state: State, { scene, run, now, draw }: Following, decision: Decision): void {
  const { beginsAt, timeouts } = scene;
  const definition = run.groups.find(({ definition: { name } }) => name === decision.group)?.definition;
  const seconds = {
    prepare: definition?.prepare_timeout ?? timeouts.prepare,
    deploy: (definition?.deploy_timeout ?? timeouts.deploy) + (timeouts.service ?? 0),
  };
  const wake = (afterSeconds: number): void => state.moments.add(now + afterSeconds * 1000, undefined);
  const moment = (): Moment => ({ ms: now - beginsAt, isKnown: now <= state.vagueSince });
  switch (decision.kind) {
    case 'enter stage': {
      if (decision.stage === 'preparing') {
        state.groups.set(decision.group, { begins: moment() });
        wake(seconds.prepare);
        wake(seconds.prepare + seconds.deploy);
      }
      if (decision.stage === 'deploying') wake(seconds.deploy);
      return;
    }
    case 'begin': {
      const { phase } = decision;
      for (const node of decision.nodes) {
        const drawn = draw(node, phase);
        state.nodes.set(node, state.nodes.get(node) ?? { begins: moment() });
        // one that stays as it is, because it is deployed already, is out at no moment
        if (drawn.ms > 0) state.changed.add(node);
        if (!drawn.isKnown) state.vague.add(node);
        state.moments.add(now + drawn.ms, { node, phase, drawn });
        if (drawn.ms >= seconds[phase] * 1000) wake(seconds[phase]);
      }
      if (decision.nodes.some((node) => state.vague.has(node))) state.vagueSince = Math.min(state.vagueSince, now);
      return;
    }
    case 'end group': {
      const group = run.groups.find(({ definition: { name } }) => name === decision.group);
      const isKnown = (group?.members ?? []).every((name) => !state.vague.has(name));
      const span = state.groups.get(decision.group);
      const isLate = span?.begins?.isKnown === false || (span === undefined && now > state.vagueSince);
      state.groups.set(decision.group, { ...span, ends: { ms: now - beginsAt, isKnown: isKnown && !isLate } });
      for (const name of group?.members ?? []) state.changed.add(name);
      return;
    }
    case 'canaries':
      if (decision.are === 'in service') wake(definition?.canary?.stay_seconds ?? 0);
      return;
    case 'settled':
      for (const { hold_seconds: hold } of definition?.health ?? []) wake(hold);
      return;
    case 'wait': {
      const opens =
        definition?.window && decision.reason?.code === 'rollout-window'
          ? nextOpening(definition.window, now)
          : undefined;
      if (opens !== undefined) state.moments.add(opens, undefined);
      return;
    }
    case 'cancel':
    case 'skip':
    case 'pause':
      return;
    default:
      decision satisfies never;
  }
}

function end(state: State, run: SiteRun, name: string, ms: number): void {
  state.changed.add(name);
  const { status } = run.nodes.get(name) ?? {};
  const span = state.nodes.get(name);
  if (status !== 'success' && status !== 'failure') return;
  const isKnown = span?.begins?.isKnown === true && !state.vague.has(name);
  state.nodes.set(name, { ...span, ends: { ms, isKnown } });
}

/** Whether the node is at work in that phase still: one that was broken off has ended before its time. */
function isOf(run: SiteRun, { node, phase }: NonNullable<Happening>): boolean {
  return run.nodes.get(node)?.work?.phase === phase;
}

/** Ends of the nodes that are broken off: at once, as most of them are. */
function cancelledIn(run: SiteRun): Map<string, NodeOutcome> {
  return new Map(
    workingNodes(run).flatMap(([name, { work }]): [string, NodeOutcome][] =>
      work.cancelling === undefined ? [] : [[name, { state: 'failed', error: textRemark(work.cancelling) }]],
    ),
  );
}

/** Looks at all gates that decide on something now: each is good from its first answer on, and has to be held. */
function lookAgain(state: State, looks: GateLooks, run: SiteRun, now: number): GateLooks {
  const look = (group: string, { name, hold_seconds: hold }: HealthGate): [string, GateLook] => {
    const before = looks.get(group)?.get(name);
    if (!before) state.moments.add(now + hold * 1000, undefined);
    return [name, addAnswer(before, { isGood: true, said: 'rehearsed' }, now)];
  };
  return new Map(
    gatesToAsk(run, now).map(({ group, gates }) => [group, new Map(gates.map((gate) => look(group, gate)))]),
  );
}

/** Whether there is a gate that nobody has looked at. */
function hasUnasked(looks: GateLooks, run: SiteRun, now: number): boolean {
  return gatesToAsk(run, now).some(({ group, gates }) => gates.some(({ name }) => !looks.get(group)?.has(name)));
}

function finish(
  { groups, nodes, vague, vagueSince }: State,
  end: Pick<RehearsedRun, 'run' | 'mostOut'> & {
    readonly now: number;
    readonly scene: Scene;
    readonly pause: RehearsedRun['pause'];
  },
): RehearsedRun {
  const { run, now, scene, pause, mostOut } = end;
  const isKnown = vague.size === 0 && now <= vagueSince;
  const ends = { ms: now - scene.beginsAt, isKnown };
  return { run, groups, nodes, ends, mostOut, ...(pause ? { pause } : {}) };
}
