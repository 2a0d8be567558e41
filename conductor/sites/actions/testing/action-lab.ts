import { eq, sql } from 'drizzle-orm';
import { getAction, type SiteAction } from '#conductor/flows/site-actions/action-store.ts';
import { openApiCaller } from '#conductor/kernel/caller.ts';
import { siteRevisions } from '#conductor/kernel/db/schema/site.ts';
import { siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import { listNotes } from '#conductor/sites/actions/action-notes.ts';
import { startActionRunner } from '#conductor/sites/actions/action-runner.ts';
import type { SiteOperations } from '#conductor/sites/actions/action-work.ts';
import { createAction } from '#conductor/sites/actions/create-action.ts';
import { tagRevision } from '#conductor/sites/revisions/revision-store.ts';
import type { ConductorContext } from '#conductor/start/open-context.ts';
import { type Clock, systemClock } from '#shared/clock.ts';

/** A revision without documents that is committed: what it says comes from the test's hands. */
export async function commitRevision({ db }: Pick<ConductorContext, 'db'>): Promise<number> {
  const [row] = await db.insert(siteRevisions).values({ kind: 'upload' }).returning();
  if (!row) throw new Error('no revision');
  await tagRevision(db, { revisionId: row.id, tag: 'committed', data: {}, user: undefined });
  return row.id;
}

export async function forgetActions({ db }: Pick<ConductorContext, 'db'>): Promise<void> {
  // quicker than truncate, which creates files
  await db.delete(siteActions);
  await db.delete(siteRevisions);
  await db.execute(sql`select setval(pg_get_serial_sequence('site_revisions', 'id'), 1, false)`);
}

/** Makes an action, or throws what the API answers. */
export async function makeAction(
  context: Parameters<typeof createAction>[0],
  operations: Pick<SiteOperations, 'checkRevision'>,
  request: { readonly name: string; readonly parameters?: Record<string, unknown> },
): Promise<string> {
  const made = await createAction(
    context,
    { parameters: {}, ...request, caller: { ...openApiCaller, user: 'ada' } },
    operations.checkRevision,
  );
  if (!('action' in made)) throw new Error('a plan, and no action');
  return made.action.id;
}

export interface RunnerLife {
  nudge(): void;
  /** Ends it as a crash does: the database hears nothing more of it, and its lease stays until it runs out. */
  kill(): Promise<void>;
  /** Ends it as a conductor that is told to stop. */
  stop(): Promise<void>;
  readonly isDead: () => boolean;
}

const longestSleepMs = 5;

/** Rests between beats are for machines to move in: there are none here. */
const hastyClock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(Math.min(ms, longestSleepMs), signal),
};

/**
 * A conductor's runner with a life of its own.
 * @param dies asked at each checkpoint of this life, which are counted from 1
 */
export function startLife(
  context: ConductorContext,
  operations: SiteOperations,
  { name, dies = () => false }: { readonly name: string; readonly dies?: (checkpoint: number) => boolean },
): RunnerLife {
  const state = { isDead: false, passed: 0 };
  const db = new Proxy(context.db, {
    get: (target, key): unknown => {
      if (state.isDead) throw new Error('dead');
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const runner = startActionRunner({
    clock: hastyClock,
    operations,
    context: {
      ...context,
      db,
      clock: hastyClock,
      config: { ...context.config, conductorName: name },
      checkpoint: () => {
        state.passed += 1;
        if (!dies(state.passed)) return;
        state.isDead = true;
        throw new Error('died here');
      },
    },
  });
  return {
    nudge: () => runner.nudge(),
    kill: async () => {
      state.isDead = true;
      await runner.stop();
    },
    stop: () => runner.stop(),
    isDead: () => state.isDead,
  };
}

/** Has the lease of a dead conductor run out. */
export async function expireLease({ db }: Pick<ConductorContext, 'db'>, id: string): Promise<void> {
  await db.update(siteActions).set({ expiresAt: sql`now() - interval '1 second'` }).where(eq(siteActions.id, id));
}

/** Ages all that is noted of an action's work by so much. */
export async function longAgo({ db }: Pick<ConductorContext, 'db'>, id: string, seconds: number): Promise<void> {
  const earlier = sql`make_interval(secs => ${seconds})`;
  await db.execute(sql`update site_actions set expires_at = expires_at - ${earlier} where id = ${id}`);
  await db.execute(sql`update flows set held_since = held_since - ${earlier} where site_action_id = ${id}`);
  await db.execute(sql`update site_action_groups set prepare_started_at = prepare_started_at - ${earlier},
    deploy_started_at = deploy_started_at - ${earlier} where action_id = ${id}`);
  await db.execute(sql`update site_action_nodes set phase_started_at = phase_started_at - ${earlier}
    where action_id = ${id}`);
}

/** So that the test says what it waited for before its own limit ends it. */
const patienceMs = 240_000;

/** Looks until the action is as wanted. */
export async function actionBecomes(
  { db }: Pick<ConductorContext, 'db'>,
  id: string,
  isSo: (action: SiteAction) => boolean,
): Promise<SiteAction> {
  const until = performance.now() + patienceMs;
  for (;;) {
    const action = await getAction(db, id);
    if (isSo(action)) return action;
    if (performance.now() > until) {
      const notes = (await listNotes(db, [id], { verbosity: 5 })).map(({ text }) => text);
      throw new Error(`the action is still ${action.state}; its notes:\n${notes.join('\n')}`);
    }
    await systemClock.sleep(5);
  }
}

/** The operator's pause is followed. */
export const isHeld = ({ heldSince }: SiteAction): boolean => heldSince !== null;

export const hasEnded = ({ endedAt }: SiteAction): boolean => endedAt !== null;
