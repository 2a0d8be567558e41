import { type Answered, type Mark, type Memory, positionOf } from '#conductor/kernel/db/answered.ts';
import { type Ask, holdAllNodes } from '#conductor/kernel/db/hold-all-nodes.ts';
import { lockKey } from '#conductor/kernel/db/session/lock-key.ts';
import { nodeFaults } from '#conductor/model/node-words.ts';
import type { Log } from '#shared/log.ts';

/** Right before the end of a transaction that has written. */
export const markText =
  'select pg_current_xact_id_if_assigned()::text as xid, pg_current_wal_insert_lsn()::text as lsn';

const whereText = `select system_identifier::text as system, pg_is_in_recovery() as standby,
  case when not pg_is_in_recovery() then pg_current_wal_insert_lsn()::text end as lsn,
  case when not pg_is_in_recovery() then
    ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::int end as timeline
  from pg_control_system()`;

/**
 * Looks at each connection before its first statement: a standby that was behind when it was promoted, or a server whose
 * files were restored, has forgotten what was answered, and all work is held before anybody builds on that.
 */
export interface TimelineWatch {
  /** @throws Error for a standby, and for what could not be found out: nothing is done on such a connection */
  look(query: Ask): Promise<void>;
  /**
   * Describes what has been forgotten, and what to do; `undefined` = nothing that is known of, or all nodes have been
   * released.
   */
  loss(query: Ask): Promise<string | undefined>;
}

type Place = Pick<Memory, 'system' | 'timeline'>;

/** Where a connection leads to. */
interface Here extends Place {
  /** In the log, as a number. */
  readonly at: bigint;
}

/** Tells whether the log there goes on from what was known before it was asked. */
function goesOn(known: Memory | undefined, { system, timeline, at }: Here): boolean {
  return known?.system === system && known.timeline === timeline && newest(known) <= at;
}

/** @param onLoss everything that is under way must be broken off */
export function watchTimeline(
  answered: Answered,
  { log, by, onLoss }: { readonly log: Log; readonly by: string; readonly onLoss: () => void },
): TimelineWatch {
  const state: { meeting: Promise<void>; loss: string | undefined } = { meeting: Promise.resolve(), loss: undefined };
  const find = async (query: Ask): Promise<Here> => {
    const [row] = (await query(whereText)).rows;
    if (!row) throw new Error('the server does not say who it is');
    if (row['standby'] === true) {
      throw Object.assign(new Error('the server is a standby, which takes no writes'), { code: 'ECONNREFUSED' });
    }
    return { system: String(row['system']), timeline: Number(row['timeline']), at: positionOf(String(row['lsn'])) };
  };
  const findNew = async (query: Ask): Promise<Here | undefined> => {
    // before it is asked: what is answered meanwhile may lie beyond
    const known = answered.memory();
    const here = await find(query);
    return goesOn(known, here) ? undefined : here;
  };
  const meet = async (query: Ask, { system, timeline }: Here): Promise<void> => {
    const here = { system, timeline };
    const known = answered.memory();
    state.loss = await inTransaction(query, (ask) => compare(ask, { known, here, by }));
    if (state.loss !== undefined) {
      log.error({ ...here, known: known?.timeline }, state.loss);
      onLoss();
    } else if (known)
      log.warn({ ...here, known: known.timeline }, 'the database goes on elsewhere, with all it had answered');
    answered.adopt(here);
  };
  return {
    // one after the other: nobody works before the first has compared
    look: async (query) => {
      if ((await findNew(query)) === undefined) return;
      // another connection may have met it meanwhile
      const met = state.meeting.then(async () => {
        const here = await findNew(query);
        if (here) await meet(query, here);
      });
      state.meeting = met.catch(() => undefined);
      await met;
    },
    loss: async (query) => {
      if (state.loss === undefined) return undefined;
      if (!(await hasHeldNodes(query))) state.loss = undefined;
      return state.loss;
    },
  };
}

const hasHeldNodes = async (query: Ask): Promise<boolean> =>
  (await query(`select uuid from nodes where fault = '${nodeFaults.restored}' limit 1`)).rows.length > 0;

const newest = ({ marks }: Memory): bigint =>
  marks.reduce((most, { lsn }) => (positionOf(lsn) > most ? positionOf(lsn) : most), 0n);

async function inTransaction<T>(query: Ask, work: (ask: Ask) => Promise<T>): Promise<T> {
  await query('begin');
  try {
    const result = await work(query);
    await query('commit');
    return result;
  } catch (error) {
    await query('rollback').catch(() => undefined);
    throw error;
  }
}

/** @returns what has been forgotten, once all nodes are held; `undefined` = nothing */
async function compare(
  query: Ask,
  { known, here, by }: { readonly known: Memory | undefined; readonly here: Place; readonly by: string },
): Promise<string | undefined> {
  await query(`select pg_advisory_xact_lock(${lockKey("'timeline'")})`);
  const values = [here.system, String(here.timeline)];
  await query(
    `insert into database_timelines (system_identifier, timeline, next_xid, lsn)
      select $1, $2::int, pg_snapshot_xmax(pg_current_snapshot())::text, pg_current_wal_insert_lsn()::text
      where not exists (select from database_timelines where system_identifier = $1 and timeline = $2::int)`,
    values,
  );
  const { rows } = await query(
    `select next_xid, lsn, behind from database_timelines where system_identifier = $1 and timeline = $2::int`,
    values,
  );
  const met = { nextXid: String(rows[0]?.['next_xid']), lsn: String(rows[0]?.['lsn']) };
  // of another cluster's log nothing can be compared: a dump that was restored there has held its nodes itself
  const isLost = known?.system === here.system && (await lostOf(query, { known, here, met }));
  const behind = rows[0]?.['behind'];
  // another conductor has found it: nodes that were released since have been compared
  if (typeof behind === 'string') return (await hasHeldNodes(query)) ? behind : undefined;
  if (!isLost) return undefined;
  const text = describeLoss(known, here);
  await query('update database_timelines set behind = $3 where system_identifier = $1 and timeline = $2::int', [
    ...values,
    text,
  ]);
  await holdAllNodes(query, { reason: heldReason, by });
  return text;
}

const heldReason = 'the database has forgotten what came last: compare it with the machine';

/** Describes the loss for the operator. Pure. */
function describeLoss(known: Pick<Memory, 'timeline'>, here: Pick<Memory, 'timeline'>): string {
  const what =
    known.timeline === here.timeline
      ? 'the database server has lost transactions that it had answered'
      : `the database went on from a standby that was behind (timeline ${known.timeline}, now ${here.timeline}), without transactions that had been answered`;
  return `${what}: all nodes are in maintenance "restored". Compare each with its machine and switch, say what it is (baton adopt, baton manage), then baton maintenance off`;
}

/** Returns whether a transaction that was answered is not here. */
async function lostOf(
  query: Ask,
  {
    known,
    here,
    met,
  }: {
    readonly known: Memory;
    readonly here: Place;
    /** The next transaction's number, and the position, when the first conductor came here. */
    readonly met: { readonly nextXid: string; readonly lsn: string };
  },
): Promise<boolean> {
  // it is the same log, and shorter
  if (known.timeline === here.timeline) return true;
  for (const mark of known.marks) if (isLater(mark, met) || !(await isCommitted(query, mark))) return true;
  return false;
}

const isLater = ({ xid, lsn }: Mark, met: { readonly nextXid: string; readonly lsn: string }): boolean =>
  BigInt(xid) >= BigInt(met.nextXid) || positionOf(lsn) > positionOf(met.lsn);

/** A number that is too old to be asked about is of long ago. */
async function isCommitted(query: Ask, { xid }: Mark): Promise<boolean> {
  const { rows } = await query('select pg_xact_status($1::text::xid8) as status', [xid]);
  return rows[0]?.['status'] === 'committed' || rows[0]?.['status'] === null;
}
