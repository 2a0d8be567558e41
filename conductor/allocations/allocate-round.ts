import { type Claim, claimNodes } from '#conductor/allocations/claim-nodes.ts';
import type { AllocationsContext } from '#conductor/allocations/context.ts';
import { demandOf, mayWait, requirementsKey, type Unit, unitsOf } from '#conductor/allocations/demand.ts';
import {
  type Candidate,
  decideAllocation,
  describeShortage,
  pairUp,
  type Requirements,
  type Verdict,
} from '#conductor/allocations/match.ts';
import { readFitting, readNamed } from '#conductor/allocations/read-candidates.ts';
import { readUnserved, saveUnserved, type WorkRow } from '#conductor/allocations/work-store.ts';
import type { AllocationRow } from '#conductor/kernel/db/schema/allocation.ts';
import { errorChain, errorCode } from '#shared/errors/app-error.ts';

/** Allocations looked at together: as many share one read of the nodes and one transaction. */
const pageSize = 256;

export interface RoundOptions {
  /** When each unit first found only nodes that were locked or taken from under it; kept from round to round. */
  readonly hinderedSince: Map<string, Date>;
  /** Kept from round to round. */
  readonly waits: WaitMemory;
  /** For so long they are tried again. */
  readonly patienceMs: number;
  readonly retryMs: number;
}

type Context = Pick<AllocationsContext, 'db' | 'config' | 'clock' | 'log'>;

interface Round extends RoundOptions {
  readonly context: Context;
  readonly now: Date;
  readonly seen: Set<string>;
  /** Nodes planned for somebody, and not refused to them. */
  readonly taken: Set<string>;
  /** Requests that no node fits. */
  readonly hopeless: Set<string>;
  readonly waiting: Unit[];
  /** Nodes that a request excludes, as they were when they were last given away. */
  readonly named: Map<string, Promise<Candidate[]>>;
  /** Milliseconds after which another round is worth while, beside the period. */
  readonly lookAgain: number[];
}

/**
 * Looks once at all of this conductor's allocations that have no node yet, the oldest first: gives them nodes, ends them
 * in error, or leaves them waiting. What waits gets a reason once all are served.
 * @returns milliseconds after which to look again; `undefined` = when something happens
 */
export async function allocateRound(context: Context, options: RoundOptions): Promise<number | undefined> {
  const round: Round = {
    ...options,
    context,
    now: context.clock.now(),
    seen: new Set(),
    taken: new Set(),
    hopeless: new Set(),
    waiting: [],
    named: new Map(),
    lookAgain: [],
  };
  for (let afterId = 0; ; ) {
    const { rows, lastId } = await readUnserved(context, { afterId, limit: pageSize });
    if (lastId === undefined) break;
    afterId = lastId;
    const units = unitsOf(rows).filter(({ key }) => !round.seen.has(key));
    for (const { key } of units) round.seen.add(key);
    await serve(round, units, { isSecondLook: false });
  }
  for (const key of options.hinderedSince.keys()) if (!round.seen.has(key)) options.hinderedSince.delete(key);
  const nextLook = await explainWaits(context, {
    units: round.waiting,
    memory: round.waits,
    now: round.now,
    explain: (unit) => explain(round, unit),
  });
  const next = Math.min(...round.lookAgain, ...nextLook);
  return next === Infinity ? undefined : next;
}

interface Planned {
  readonly unit: Unit;
  readonly verdict: Verdict;
  /** Nodes would have fitted that are planned for others. */
  readonly isCrowded: boolean;
}

async function serve(
  round: Round,
  units: readonly Unit[],
  { isSecondLook }: { readonly isSecondLook: boolean },
): Promise<void> {
  const fitting = await readForAll(round, units);
  const planned = units.map((unit) => plan(round, unit, fitting.get(requirementsKey(unit.requirements)) ?? []));
  const claims = planned.flatMap(({ unit, verdict }) =>
    verdict.kind === 'take'
      ? [{ unit, requirements: unit.requirements, pairs: pairUp(unit.members, verdict.nodes) }]
      : [],
  );
  await claim(round, claims);
  const isGivenBack = claims.some(({ pairs }) => pairs.some(({ node }) => !round.taken.has(node.uuid)));
  // what others did not get after all may be theirs, and nobody ends in error for nodes that were only planned
  const looksAgain = ({ verdict: { kind }, isCrowded }: Planned): boolean =>
    !isSecondLook && isCrowded && (kind === 'fail' || (kind === 'wait' && isGivenBack));
  // another conductor has the nodes that were planned for others: what is left is known once it has committed
  const isContested = ({ unit, verdict: { kind }, isCrowded }: Planned): boolean =>
    kind === 'fail' && isCrowded && isGivenBack && isPatient(round, unit);
  const ended = planned.filter((each) => !looksAgain(each));
  for (const each of ended) {
    if (each.verdict.kind === 'try again' || isContested(each)) hinder(round, each.unit);
    if (each.verdict.kind === 'wait') wait(round, each.unit);
  }
  await failAll(
    round,
    ended.filter((each) => each.verdict.kind === 'fail' && !isContested(each)).map(({ unit }) => unit),
  );
  const again = planned.filter(looksAgain).map(({ unit }) => unit);
  if (again.length > 0) await serve(round, again, { isSecondLook: true });
}

function plan(round: Round, unit: Unit, fitting: readonly Candidate[]): Planned {
  const nodes = fitting.filter(({ uuid }) => !round.taken.has(uuid));
  const verdict = decideAllocation(demandOf(unit, { triesLeft: isPatient(round, unit) ? 1 : 0 }), nodes);
  if (verdict.kind === 'take') for (const { uuid } of verdict.nodes) round.taken.add(uuid);
  return { unit, verdict, isCrowded: nodes.length < fitting.length };
}

/**
 * Reads the nodes that fit, by request; each request is read once. So many that enough remain when all others of the class
 * have taken theirs, which may be the same ones.
 */
async function readForAll(round: Round, units: readonly Unit[]): Promise<Map<string, Candidate[]>> {
  const fitting = new Map<string, Candidate[]>();
  const ofClass = Map.groupBy(units, ({ requirements }) => requirements.resourceClass);
  for (const [key, alike] of Map.groupBy(units, (unit) => requirementsKey(unit.requirements))) {
    const [first] = alike;
    if (!first || round.hopeless.has(key)) continue;
    const members = alike.flatMap((unit) => unit.members);
    const rivals = ofClass.get(first.requirements.resourceClass) ?? [];
    const needed = rivals.reduce((sum, unit) => sum + unit.members.length, round.taken.size);
    // racks can only be chosen from when all are known
    const isPlaced = members.some(({ placement }) => placement !== null);
    const nodes = await readFitting(round.context.db, first.requirements, {
      names: members.flatMap(({ name }) => name ?? []),
      needed,
      limit: isPlaced ? undefined : needed + members.length + 32,
    });
    if (nodes.length === 0) round.hopeless.add(key);
    fitting.set(key, nodes);
  }
  return fitting;
}

interface UnitClaim extends Claim {
  readonly unit: Unit;
}

async function claim(round: Round, claims: readonly UnitClaim[]): Promise<void> {
  if (claims.length === 0) return;
  try {
    const granted = await claimNodes(round.context, claims);
    if (granted.size > 0) round.named.clear();
    for (const each of claims) await settle(round, each, granted);
  } catch (error) {
    // one that can't be must not keep the others from their nodes
    if (claims.length > 1) for (const each of claims) await claim(round, [each]);
    else if (claims[0]) await refuse(round, claims[0], error);
  }
}

async function settle(round: Round, { unit, pairs }: UnitClaim, granted: ReadonlySet<string>): Promise<void> {
  const lost = pairs.filter(({ allocation }) => !granted.has(allocation.uuid));
  for (const { node } of lost) round.taken.delete(node.uuid);
  if (lost.length === pairs.length) {
    await putOff(round, unit, `could not reserve any of ${pairs.length} suitable nodes`);
    return;
  }
  round.hinderedSince.delete(unit.key);
  const without = unit.members.filter(({ uuid }) => !granted.has(uuid));
  if (without.length === 0) return;
  const text = `only ${pairs.length} of ${unit.members.length} nodes could be had, with which min_count is content`;
  await saveUnserved(round.context, without, { lastError: text });
}

async function refuse(round: Round, { unit, pairs }: UnitClaim, error: unknown): Promise<void> {
  const names = unit.members.map(({ uuid }) => uuid);
  round.context.log.error({ allocations: names, err: error }, 'allocation could not be given its node');
  for (const { node } of pairs) round.taken.delete(node.uuid);
  if (errorCode(error) === 'conflict') await fail(round, [unit], errorChain(error));
  else await putOff(round, unit, `Unexpected exception during allocation: ${errorChain(error)}`);
}

/**
 * Puts off an allocation whose nodes others have taken: it is tried again soon, then left waiting if it may wait, then
 * ended.
 */
async function putOff(round: Round, unit: Unit, reason: string): Promise<void> {
  if (isPatient(round, unit)) hinder(round, unit);
  else if (mayWait(unit)) wait(round, unit);
  else await fail(round, [unit], reason);
}

function isPatient({ hinderedSince, now, patienceMs }: Round, { key }: Unit): boolean {
  const since = hinderedSince.get(key);
  return since === undefined || now.getTime() - since.getTime() < patienceMs;
}

function hinder(round: Round, { key }: Unit): void {
  if (!round.hinderedSince.has(key)) round.hinderedSince.set(key, round.now);
  round.lookAgain.push(round.retryMs);
}

/** A race that is lost hours later is the first one again. */
function wait(round: Round, unit: Unit): void {
  round.hinderedSince.delete(unit.key);
  round.waiting.push(unit);
}

/** Saves all allocations that fail for one reason at once. */
async function failAll(round: Round, units: readonly Unit[]): Promise<void> {
  const byReason = new Map<string, Unit[]>();
  for (const unit of units) {
    const reason = await explain(round, unit);
    byReason.set(reason, [...(byReason.get(reason) ?? []), unit]);
  }
  for (const [reason, alike] of byReason) await fail(round, alike, reason);
}

async function fail(round: Round, units: readonly Unit[], reason: string): Promise<void> {
  for (const { key } of units) round.hinderedSince.delete(key);
  const save = async (hasWaited: boolean, lastError: string): Promise<void> => {
    const rows: AllocationRow[] = units
      .flatMap(({ members }) => members)
      .filter(({ waitUntil }) => (waitUntil !== null) === hasWaited);
    if (rows.length > 0) await saveUnserved(round.context, rows, { lastError });
  };
  await save(false, reason);
  await save(true, `the wait ended without a node: ${reason}`);
}

function explain({ context, named }: Round, { requirements, members }: Unit): Promise<string> {
  const read = (key: string, of: Requirements): Promise<Candidate[]> => {
    const nodes = named.get(key) ?? readNamed(context.db, of);
    named.set(key, nodes);
    return nodes;
  };
  return read(requirementsKey(requirements), requirements).then((nodes) =>
    describeShortage(requirements, nodes, members.length),
  );
}

/** How old the words may become that say what is waited for: each look reads all nodes of the class. */
const explainEveryMs = 5_000;

export interface WaitMemory {
  /** When every waiting unit's reason was last written. */
  explainedAt: Date | undefined;
}

/**
 * Writes down what each unit waits for: at once for those without a reason, for the others every few seconds at
 * most, for many with the same words in one save.
 * @returns milliseconds after which to look again: when a time is over, and when words may be out of date
 */
async function explainWaits(
  context: Pick<AllocationsContext, 'db' | 'config'>,
  work: {
    readonly units: readonly Unit[];
    readonly memory: WaitMemory;
    readonly now: Date;
    readonly explain: (unit: Unit) => Promise<string>;
  },
): Promise<number[]> {
  const { units, memory, now, explain } = work;
  if (units.length === 0) return [];
  const ageMs = memory.explainedAt ? now.getTime() - memory.explainedAt.getTime() : Infinity;
  const isDue = ageMs >= explainEveryMs || ageMs < 0;
  if (isDue) memory.explainedAt = now;
  const toExplain = isDue
    ? units
    : units.filter(({ members }) => members.some(({ waitingFor }) => waitingFor === null));
  const byText = new Map<string, WorkRow[]>();
  for (const unit of toExplain) {
    const text = await explain(unit);
    const outdated = unit.members.filter(({ waitingFor }) => waitingFor !== text);
    if (outdated.length > 0) byText.set(text, [...(byText.get(text) ?? []), ...outdated]);
  }
  for (const [waitingFor, rows] of byText) await saveUnserved(context, rows, { waitingFor });
  const deadlines = units.flatMap(({ members: [{ waitsMs }] }) => waitsMs ?? []);
  return [...(toExplain.length < units.length ? [explainEveryMs - ageMs] : []), ...deadlines];
}
