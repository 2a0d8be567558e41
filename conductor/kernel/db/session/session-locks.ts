/* oxlint-disable unicorn/require-post-message-target-origin -- a thread's messages, not a window's */
import { Worker } from 'node:worker_threads';
import { createLife, idleSessionMs, type Life, undisputedLife } from '#conductor/kernel/db/session/life.ts';
import { lockKey } from '#conductor/kernel/db/session/lock-key.ts';
import { type FromSession, serveSession, type ToSession } from '#conductor/kernel/db/session/watched-session.ts';

/** A lock that ends with the process that holds it, whatever becomes of that: PostgreSQL's, bound to a connection. */
export interface SessionLock {
  /** Takes the lock, or takes it again after the connection was lost; `false` while another, here or elsewhere, holds it. */
  take(): Promise<boolean>;
  release(): Promise<void>;
}

export interface SessionLocks {
  /** `onLost` hears that the connection was lost, and the lock with it. */
  readonly lock: (name: string, onLost?: () => void) => SessionLock;
  readonly life: Life;
  /** From now on this process lives by its session: it is dead until `count`. */
  readonly beginLife: () => void;
  /** The session counts as a sign of life: it holds what others go by. @throws Error when it was lost meanwhile */
  readonly count: () => Promise<void>;
  /** All that this process is at must not go on; what it begins now may. */
  readonly breakOff: () => void;
  close(): Promise<void>;
}

type Rows = readonly Record<string, unknown>[];
type Order = { readonly text: string; readonly values: readonly string[] } | { readonly count: true };

/** The other end of `serveSession`. */
function askSession(url: string, options: { readonly isAlone: boolean; readonly onLost: () => void }) {
  const beats = new BigInt64Array(new SharedArrayBuffer(16));
  const asked = new Map<number, PromiseWithResolvers<Rows>>();
  const ended = Promise.withResolvers<void>();
  const state: { losses: number; next: number; send: ((message: ToSession) => void) | undefined } = {
    losses: 0,
    next: 0,
    send: undefined,
  };
  const receive = (message: FromSession): void => {
    if ('ended' in message) return ended.resolve();
    if ('lost' in message) {
      state.losses += 1;
      return options.onLost();
    }
    const waiting = asked.get(message.answer);
    asked.delete(message.answer);
    if ('rows' in message) waiting?.resolve(message.rows);
    else waiting?.reject(Object.assign(new Error(message.error.message), { code: message.error.code }));
  };
  const fail = (error: unknown): void => {
    state.send = undefined;
    for (const waiting of asked.values()) waiting.reject(error);
    asked.clear();
    ended.resolve();
    state.losses = 0;
    options.onLost();
  };
  const start = (): ((message: ToSession) => void) => {
    if (options.isAlone) return serveSession({ url, beats, idleMs: 0 }, receive);
    const workerData = { url, beats, idleMs: idleSessionMs };
    // what the main thread is busy with must not look like its death
    const worker = new Worker(program, { workerData, execArgv: [], name: 'session', resourceLimits });
    worker.on('message', receive);
    worker.on('error', fail);
    return (message) => worker.postMessage(message);
  };
  const post = (message: ToSession): void => {
    state.send ??= start();
    state.send(message);
  };
  return {
    beats,
    ask: (order: Order): Promise<Rows> => {
      const waiting = Promise.withResolvers<Rows>();
      state.next += 1;
      asked.set(state.next, waiting);
      post({ losses: state.losses, ask: state.next, ...order });
      return waiting.promise;
    },
    close: async (): Promise<void> => {
      if (!state.send) return;
      post({ losses: state.losses, end: true });
      await ended.promise;
    },
  };
}

const program = new URL('session-thread.ts', import.meta.url);
/** Limits of a thread that lives as long as its session, and has nothing to keep. */
const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 };

/**
 * All on one connection: PostgreSQL has few of them, and would give what one holds to the same one again.
 * @param options.isAlone no other conductor can use the database: nobody goes by the session's life
 */
export function createSessionLocks(url: string, options: { readonly isAlone?: boolean } = {}): SessionLocks {
  const isAlone = options.isAlone === true;
  const holders = new Map<string, { readonly onLost?: (() => void) | undefined; readonly taken: Promise<boolean> }>();
  const session = askSession(url, {
    isAlone,
    onLost: () => {
      const lost = [...holders.values()];
      holders.clear();
      for (const holder of lost) holder.onLost?.();
    },
  });
  const life = isAlone ? undefined : createLife(session.beats);
  const ask = async (does: 'pg_try_advisory_lock' | 'pg_advisory_unlock', name: string): Promise<boolean> => {
    const [row] = await session.ask({ text: `select ${does}(${lockKey('$1')}) as done`, values: [name] });
    return row?.['done'] === true;
  };
  const lock: SessionLocks['lock'] = (name, onLost) => {
    let mine: Promise<boolean> | undefined;
    const isHolder = (): boolean => mine !== undefined && holders.get(name)?.taken === mine;
    const forget = (): void => {
      if (isHolder()) holders.delete(name);
    };
    return {
      take: async () => {
        if (!isHolder()) {
          if (holders.has(name)) return false;
          mine = ask('pg_try_advisory_lock', name);
          holders.set(name, { onLost, taken: mine });
        }
        let isTaken: boolean | undefined = false;
        try {
          isTaken = await mine;
        } finally {
          if (!isTaken) forget();
        }
        return isTaken === true;
      },
      release: async () => {
        await mine?.catch(() => undefined);
        if (!isHolder()) return;
        await ask('pg_advisory_unlock', name).catch(() => undefined); // the connection was cut, and the lock went with it
        forget();
      },
    };
  };
  return {
    lock,
    life: life ?? undisputedLife,
    beginLife: () => life?.begin(),
    count: async () => {
      if (!life) return;
      life.look();
      await session.ask({ count: true });
    },
    breakOff: () => life?.breakOff(),
    close: async () => {
      life?.end();
      await session.close();
    },
  };
}
