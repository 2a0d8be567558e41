import type { Client } from 'pg';
import { cutConnection, openSession, setUpHolder } from '#conductor/kernel/db/session/session.ts';

/** A session that is asked by messages, so that it can be in a thread of its own, and goes on beating when the main one is busy. */
export interface WatchedSessionOptions {
  readonly url: string;
  /** When the last beat that counts, and was answered, had been sent: nanoseconds of the steady clock, milliseconds since 1970. */
  readonly beats: BigInt64Array;
  /** The server ends a session that says nothing for so long; 0 = it does not, and the session does not beat. */
  readonly idleMs: number;
}

/** To the session. `losses`: of so many the sender knows; what it asks for in ignorance of one is refused. */
export type ToSession = { readonly losses: number } & (
  | { readonly ask: number; readonly text: string; readonly values: readonly string[] }
  | { readonly ask: number; readonly count: true }
  | { readonly end: true }
);

export type FromSession =
  | { readonly answer: number; readonly rows: readonly Record<string, unknown>[] }
  | { readonly answer: number; readonly error: { readonly message: string; readonly code?: string | undefined } }
  | { readonly lost: true }
  | { readonly ended: true };

const beatMs = 500;
const answerMs = 10_000;

/** Opens it when it is first asked, and again after it was lost. */
export function serveSession(
  { url, beats, idleMs }: WatchedSessionOptions,
  post: (message: FromSession) => void,
): (message: ToSession) => void {
  const state: { losses: number; counts: boolean; isOpen: boolean; beating: Promise<void> | undefined; pid: number } = {
    losses: 0,
    counts: false,
    isOpen: false,
    beating: undefined,
    pid: 0,
  };
  const onOpen = async (client: Client): Promise<void> => {
    await setUpHolder(client, idleMs > 0 ? { idle_session_timeout: `${idleMs}` } : {});
    const former = state.pid;
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    state.pid = rows[0]?.pid ?? 0;
    // cut off from one side only, it still holds locks there, which nobody uses
    if (former !== 0) await client.query(endFormer, [former]).catch(() => undefined);
    state.isOpen = true;
  };
  const onLost = (): void => {
    state.losses += 1;
    state.counts = false;
    state.isOpen = false;
    post({ lost: true });
  };
  const session = openSession(url, { answerMs, onOpen, onLost });
  /** @throws what went wrong: whether the session holds what was asked for is not known then, so it is cut */
  const query = async (text: string, values: readonly string[]): Promise<readonly Record<string, unknown>[]> => {
    const client = await session.client();
    try {
      return (await client.query<Record<string, unknown>>(text, [...values])).rows;
    } catch (error) {
      cutConnection(client);
      throw error;
    }
  };
  const beatOnce = async (): Promise<void> => {
    const { losses, counts } = state;
    const sent = [process.hrtime.bigint(), BigInt(Date.now())] as const;
    try {
      await query('select 1', []);
      if (!counts || losses !== state.losses) return;
      Atomics.store(beats, 0, sent[0]);
      Atomics.store(beats, 1, sent[1]);
    } catch {
      // it is lost, which is said
    } finally {
      state.beating = undefined;
    }
  };
  const beat = (): Promise<void> => {
    state.beating ??= beatOnce();
    return state.beating;
  };
  const answer = async (message: Exclude<ToSession, { end: true }>): Promise<readonly Record<string, unknown>[]> => {
    // a beat that was sent before does not count
    if ('count' in message) await state.beating;
    if (message.losses !== state.losses) throw new Error('the connection to the database was lost');
    if ('text' in message) return query(message.text, message.values);
    state.counts = true;
    await beat();
    return [];
  };
  // before it counts it may hold locks, which must not end with an idle session
  const timer = idleMs > 0 ? setInterval(() => state.isOpen && void beat(), beatMs) : undefined;
  return (message) => {
    if ('end' in message) {
      clearInterval(timer);
      void session.close().finally(() => post({ ended: true }));
      return;
    }
    answer(message).then(
      (rows) => post({ answer: message.ask, rows }),
      (error: Error & { readonly code?: string }) =>
        post({ answer: message.ask, error: { message: error.message, code: error.code } }),
    );
  };
}

const endFormer = `select pg_terminate_backend(pid) from pg_locks
  where pid = $1 and locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`;
