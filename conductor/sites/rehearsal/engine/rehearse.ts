import { describeRemark } from '#conductor/model/remarks/remark-words.ts';
import { reportSite } from '#conductor/model/site/site-report.ts';
import type { NodePhase } from '#conductor/model/site/site-run.ts';
import type { NodeCourse } from '#conductor/sites/rehearsal/engine/course.ts';
import { findCriticalPath, type PathPart } from '#conductor/sites/rehearsal/engine/critical-path.ts';
import { type DrawnPhase, drawPhase } from '#conductor/sites/rehearsal/engine/draw-phase.ts';
import { newRandom, type Random } from '#conductor/sites/rehearsal/engine/random.ts';
import {
  type Moment,
  type RehearsedRun,
  runOnce,
  type Scene,
  type Span,
} from '#conductor/sites/rehearsal/engine/run-once.ts';
import { hasEnded } from '#conductor/sites/strategy/decide.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** The point at which a node fails: in that phase, there: `deploy`, a kind of flow, or a step. */
export interface AskedFailure {
  readonly phase: NodePhase;
  readonly at: string;
}

/** Failures that are asked for, beside those of the history. */
export interface AskedFailures {
  readonly nodes: ReadonlyMap<string, AskedFailure>;
  /** Share of the nodes that fail in one of their phases: 0 to 1. */
  readonly share: number;
}

/** A rehearsal: an action with the courses of its nodes, run so many times. Plain values. */
export interface RehearsalOrder {
  readonly scene: Scene;
  readonly courses: ReadonlyMap<string, NodeCourse>;
  readonly failures: AskedFailures;
  readonly runs: number;
  /** A whole number below 2³²: the same seed draws the same. */
  readonly seed: number;
}

/** Times of a thing over all runs in which it came about, in seconds from the beginning. */
export interface Times {
  readonly median: number;
  readonly p90: number;
  /** In some of the runs they follow from a time that is assumed, since none is recorded. */
  readonly isAssumed: boolean;
}

/** Counts of a moment over all runs. */
export interface Counts {
  readonly median: number;
  readonly most: number;
}

/** Course of a group, or a node, over all runs. */
export interface RehearsedSpan {
  /** null = it begins in no run. */
  readonly begins: Times | null;
  readonly ends: Times | null;
  /** Number of runs in which it begins, succeeds, and fails; in the others it has not ended. */
  readonly begun: number;
  readonly succeeded: number;
  readonly failed: number;
}

export interface Rehearsed {
  readonly ends: Times | null;
  /** Number of runs in which the action ends without a critical group having failed. */
  readonly succeeded: number;
  /** Number of runs in which it pauses by itself, by group and reason. */
  readonly pauses: readonly { readonly group: string; readonly reason: string; readonly runs: number }[];
  /** Groups that have neither ended nor paused in so many runs, because their window does not open. */
  readonly stuck: number;
  readonly groups: ReadonlyMap<string, RehearsedSpan & { readonly mostOut: Counts }>;
  readonly nodes: ReadonlyMap<string, RehearsedSpan>;
  readonly mostOut: Counts;
  /** By rack; nodes without one are under ''. */
  readonly racks: ReadonlyMap<string, Counts>;
  /** Groups that the end follows from, in the run whose end is the median; empty = no run comes to its end. */
  readonly criticalPath: readonly PathPart[];
}

/** Rehearses an action: runs it so many times in counted time, and says what the runs have in common. Pure. */
export function rehearse(order: RehearsalOrder): Rehearsed {
  const { scene, runs, seed } = order;
  const random = newRandom(seed);
  const seen = newSeen(scene);
  for (let run = 0; run < runs; run += 1) {
    note(seen, runOnce(scene, { draw: drawOf(order, random) }));
  }
  return summarize(seen);
}

/** Draws the phases of one run's nodes, with the failures that are asked for. */
function drawOf({ courses, failures }: RehearsalOrder, random: Random): (node: string, phase: NodePhase) => DrawnPhase {
  const failing = new Map(failures.nodes);
  if (failures.share > 0) {
    for (const [name, course] of courses) {
      const phases = (['prepare', 'deploy'] as const).filter((phase) => course[phase].flows.length > 0);
      const phase = phases[Math.floor(random() * phases.length)];
      if (random() < failures.share && phase && !failing.has(name)) failing.set(name, { phase, at: phase });
    }
  }
  return (node, phase) => {
    const course = courses.get(node)?.[phase];
    if (!course) throw new AppError('internal', `rehearse: node ${node} has no course`);
    const asked = failing.get(node);
    return drawPhase(course, random, asked?.phase === phase ? asked.at : undefined);
  };
}

interface SeenSpan {
  readonly begins: Moment[];
  readonly ends: Moment[];
  succeeded: number;
  failed: number;
}

/** All that runs have shown. */
interface Seen {
  readonly ends: Moment[];
  succeeded: number;
  stuck: number;
  readonly pauses: Map<string, { readonly group: string; readonly reason: string; runs: number }>;
  readonly groups: ReadonlyMap<string, SeenSpan>;
  readonly nodes: ReadonlyMap<string, SeenSpan>;
  readonly out: number[];
  readonly outByGroup: ReadonlyMap<string, number[]>;
  readonly outByRack: ReadonlyMap<string, number[]>;
  readonly paths: { readonly ms: number; readonly path: readonly PathPart[] }[];
}

function newSeen({ start, racks }: Scene): Seen {
  const spans = (names: Iterable<string>) =>
    new Map([...names].map((name): [string, SeenSpan] => [name, { begins: [], ends: [], succeeded: 0, failed: 0 }]));
  const groups = start.groups.map(({ definition }) => definition.name);
  const places = new Set([...start.nodes.keys()].map((name) => racks.get(name) ?? ''));
  const counts = (names: Iterable<string>) => new Map([...names].map((name): [string, number[]] => [name, []]));
  return {
    ends: [],
    succeeded: 0,
    stuck: 0,
    pauses: new Map(),
    groups: spans(groups),
    nodes: spans(start.nodes.keys()),
    out: [],
    outByGroup: counts(groups),
    outByRack: counts(places),
    paths: [],
  };
}

function note(seen: Seen, { run, groups, nodes, ends, mostOut, pause }: RehearsedRun): void {
  const isOver = hasEnded(run);
  if (isOver) {
    seen.ends.push(ends);
    seen.paths.push({ ms: ends.ms, path: findCriticalPath({ run, groups, nodes }) });
  }
  if (isOver && reportSite(run).failedCritical.length === 0) seen.succeeded += 1;
  if (pause) {
    const reason = describeRemark(pause.reason);
    const key = JSON.stringify([pause.group, pause.reason.code]);
    const known = seen.pauses.get(key) ?? { group: pause.group, reason, runs: 0 };
    seen.pauses.set(key, { ...known, runs: known.runs + 1 });
  } else if (!isOver) seen.stuck += 1;
  for (const { definition, stage } of run.groups) {
    noteSpan(seen.groups.get(definition.name), groups.get(definition.name), stage);
    seen.outByGroup.get(definition.name)?.push(mostOut.groups.get(definition.name) ?? 0);
  }
  for (const [name, { status }] of run.nodes) noteSpan(seen.nodes.get(name), nodes.get(name), status);
  seen.out.push(mostOut.all);
  for (const [rack, counts] of seen.outByRack) counts.push(mostOut.racks.get(rack) ?? 0);
}

function noteSpan(seen: SeenSpan | undefined, span: Span | undefined, status: string): void {
  if (!seen) return;
  if (span?.begins) seen.begins.push(span.begins);
  if (span?.ends) seen.ends.push(span.ends);
  if (status === 'success') seen.succeeded += 1;
  if (status === 'failure') seen.failed += 1;
}

function summarize(seen: Seen): Rehearsed {
  const spans = (each: ReadonlyMap<string, SeenSpan>) => new Map([...each].map(([name, span]) => [name, spanOf(span)]));
  const groups = [...spans(seen.groups)].map(
    ([name, span]) => [name, { ...span, mostOut: countsOf(seen.outByGroup.get(name) ?? []) }] as const,
  );
  return {
    ends: timesOf(seen.ends),
    succeeded: seen.succeeded,
    pauses: [...seen.pauses.values()],
    stuck: seen.stuck,
    groups: new Map(groups),
    nodes: spans(seen.nodes),
    mostOut: countsOf(seen.out),
    racks: new Map([...seen.outByRack].map(([rack, counts]) => [rack, countsOf(counts)])),
    criticalPath: seen.paths.toSorted((a, b) => a.ms - b.ms)[placeOf(seen.paths.length, 0.5)]?.path ?? [],
  };
}

function spanOf({ begins, ends, succeeded, failed }: SeenSpan): RehearsedSpan {
  return { begins: timesOf(begins), ends: timesOf(ends), begun: begins.length, succeeded, failed };
}

function timesOf(moments: readonly Moment[]): Times | null {
  if (moments.length === 0) return null;
  const seconds = moments.map(({ ms }) => ms / 1000).sort((a, b) => a - b);
  const isAssumed = moments.some(({ isKnown }) => !isKnown);
  return { median: shareOf(seconds, 0.5), p90: shareOf(seconds, 0.9), isAssumed };
}

function countsOf(counts: readonly number[]): Counts {
  const sorted = counts.toSorted((a, b) => a - b);
  return { median: shareOf(sorted, 0.5), most: sorted.at(-1) ?? 0 };
}

/** Returns the smallest value that so large a share of them does not exceed. */
function shareOf(sorted: readonly number[], share: number): number {
  return sorted[placeOf(sorted.length, share)] ?? 0;
}

function placeOf(length: number, share: number): number {
  return Math.max(0, Math.ceil(share * length) - 1);
}
