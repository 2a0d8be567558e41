import { type Claim, claimNodes } from '#conductor/allocations/claim-nodes.ts';
import { demandOf, type Unit, unitsOf, wishKey } from '#conductor/allocations/demand.ts';
import {
  type Candidate,
  decide,
  describeShortage,
  pairUp,
  type Verdict,
  type Wish,
} from '#conductor/allocations/match.ts';
import { readFitting, readNamed } from '#conductor/allocations/read-candidates.ts';
import { readWork, saveUnserved } from '#conductor/allocations/work-store.ts';
import type { ConductorContext } from '#conductor/context.ts';
import { errorChain, errorCode } from '#shared/errors/app-error.ts';

/** Allocations looked at together: as many share one read of the nodes and one transaction. */
const pageSize = 256;

export interface RoundOptions {
  /** When each unit first found only nodes that were locked or taken from under it; kept from round to round. */
  readonly hinderedSince: Map<string, Date>;
  /** For so long they are tried again. */
  readonly patienceMs: number;
  readonly retryMs: number;
}

type Context = Pick<ConductorContext, 'db' | 'config' | 'clock' | 'log'>;

interface Round extends RoundOptions {
  readonly context: Context;
  readonly now: Date;
  readonly seen: Set<string>;
  readonly taken: Set<string>;
  /** Wishes that no node fits. */
  readonly hopeless: Set<string>;
  readonly explain: (wish: Wish, count: number) => Promise<string>;
  /** Milliseconds after which another round is worth while, beside the period. */
  readonly lookAgain: number[];
}

/**
 * Looks once at all of this conductor's allocations that have no node yet, the oldest first: gives them nodes, ends them
 * in error, or leaves them waiting.
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
    explain: explainer(context),
    lookAgain: [],
  };
  for (let afterId = 0; ; ) {
    const { rows, lastId } = await readWork(context, { afterId, limit: pageSize });
    if (lastId === undefined) break;
    afterId = lastId;
    const units = unitsOf(rows).filter(({ key }) => !round.seen.has(key));
    for (const { key } of units) round.seen.add(key);
    await serve(round, units);
  }
  for (const key of options.hinderedSince.keys()) if (!round.seen.has(key)) options.hinderedSince.delete(key);
  return round.lookAgain.length === 0 ? undefined : Math.min(...round.lookAgain);
}

interface Planned {
  readonly unit: Unit;
  readonly verdict: Verdict;
}

async function serve(round: Round, units: readonly Unit[]): Promise<void> {
  const fitting = await readForAll(round, units);
  const planned = units.map((unit): Planned => {
    const nodes = (fitting.get(wishKey(unit.wish)) ?? []).filter(({ uuid }) => !round.taken.has(uuid));
    const verdict = decide(demandOf(unit, { now: round.now, triesLeft: isPatient(round, unit) ? 1 : 0 }), nodes);
    if (verdict.kind === 'take') for (const { uuid } of verdict.nodes) round.taken.add(uuid);
    return { unit, verdict };
  });
  const claims = planned.flatMap(({ unit, verdict }) =>
    verdict.kind === 'take' ? [{ unit, wish: unit.wish, pairs: pairUp(unit.members, verdict.nodes) }] : [],
  );
  await claim(round, claims);
  for (const { unit, verdict } of planned) {
    if (verdict.kind === 'try again') hinder(round, unit);
    if (verdict.kind === 'wait') await wait(round, unit);
    if (verdict.kind === 'fail') await fail(round, unit, await round.explain(unit.wish, unit.members.length));
  }
}

/** Nodes that fit, by wish; each wish is read once, with some more than are asked for. */
async function readForAll(round: Round, units: readonly Unit[]): Promise<Map<string, Candidate[]>> {
  const fitting = new Map<string, Candidate[]>();
  for (const [key, alike] of Map.groupBy(units, (unit) => wishKey(unit.wish))) {
    const [first] = alike;
    if (!first || round.hopeless.has(key)) continue;
    const members = alike.flatMap((unit) => unit.members);
    // racks can only be chosen from when all are known
    const isPlaced = members.some(({ placement }) => placement !== null);
    const nodes = await readFitting(round.context.db, first.wish, {
      names: members.flatMap(({ name }) => name ?? []),
      needed: members.length + round.taken.size,
      limit: isPlaced ? undefined : 2 * (members.length + round.taken.size) + 32,
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
    for (const each of claims) await settle(round, each, granted);
  } catch (error) {
    // one that can't be must not keep the others from their nodes
    if (claims.length > 1) for (const each of claims) await claim(round, [each]);
    else if (claims[0]) await refuse(round, claims[0].unit, error);
  }
}

async function settle(round: Round, { unit, pairs }: UnitClaim, granted: ReadonlySet<string>): Promise<void> {
  const served = pairs.filter(({ allocation }) => granted.has(allocation.uuid)).length;
  if (served === 0) {
    if (isPatient(round, unit)) hinder(round, unit);
    else await fail(round, unit, `could not reserve any of ${pairs.length} suitable nodes`);
    return;
  }
  round.hinderedSince.delete(unit.key);
  const without = unit.members.filter(({ uuid }) => !granted.has(uuid));
  if (without.length === 0) return;
  const text = `only ${served} of ${unit.members.length} nodes could be had, with which min_count is content`;
  await saveUnserved(round.context, without, { lastError: text });
}

async function refuse(round: Round, unit: Unit, error: unknown): Promise<void> {
  const names = unit.members.map(({ uuid }) => uuid);
  round.context.log.error({ allocations: names, err: error }, 'allocation could not be given its node');
  if (errorCode(error) === 'conflict') await fail(round, unit, errorChain(error));
  else if (isPatient(round, unit)) hinder(round, unit);
  else await fail(round, unit, `Unexpected exception during allocation: ${errorChain(error)}`);
}

function isPatient({ hinderedSince, now, patienceMs }: Round, { key }: Unit): boolean {
  const since = hinderedSince.get(key);
  return since === undefined || now.getTime() - since.getTime() < patienceMs;
}

function hinder(round: Round, { key }: Unit): void {
  if (!round.hinderedSince.has(key)) round.hinderedSince.set(key, round.now);
  round.lookAgain.push(round.retryMs);
}

async function wait(round: Round, unit: Unit): Promise<void> {
  const waitingFor = await round.explain(unit.wish, unit.members.length);
  const [first] = unit.members;
  if (first.waitingFor !== waitingFor) await saveUnserved(round.context, unit.members, { waitingFor });
  if (first.waitUntil) round.lookAgain.push(Math.max(0, first.waitUntil.getTime() - round.now.getTime()));
}

async function fail(round: Round, unit: Unit, reason: string): Promise<void> {
  round.hinderedSince.delete(unit.key);
  const waited = unit.members[0].waitUntil === null ? '' : 'waited in vain: ';
  await saveUnserved(round.context, unit.members, { lastError: `${waited}${reason}` });
}

/** Reads the nodes that stand against a wish once a round. */
function explainer({ db }: Context): Round['explain'] {
  const read = new Map<string, Promise<Candidate[]>>();
  return async (wish, count) => {
    const key = wishKey(wish);
    const nodes = read.get(key) ?? readNamed(db, wish);
    read.set(key, nodes);
    return describeShortage(wish, await nodes, count);
  };
}
