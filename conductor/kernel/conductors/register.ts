import {
  type ConductorDescription,
  findConductor,
  insertConductor,
  listConductors,
  recordConductorHeartbeat,
  recordConductorStop,
} from '#conductor/kernel/conductors/conductor-store.ts';
import type { KernelConfig, Register } from '#conductor/kernel/context.ts';
import type { Database } from '#conductor/kernel/db/open.ts';
import type { ConductorRow } from '#conductor/kernel/db/schema/conductor.ts';
import type { SessionLock } from '#conductor/kernel/db/session/session-locks.ts';
import type { Metrics } from '#conductor/kernel/metrics/metrics.ts';
import { startPeriodicTasks } from '#conductor/kernel/wake-loop.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { retry } from '#shared/retry.ts';

/** A process that was killed has let go of its name already, unless it is just ending. */
const nameTries = 30;
const nameTryMs = 100;
const comeBackMs = 100;

/** Returns the lock that a conductor's session holds as long as it lives. */
export const conductorLock = (hostname: string): string => `conductor ${hostname}`;

export interface RegisterOptions {
  readonly config: Pick<
    KernelConfig,
    'conductorName' | 'conductorGroup' | 'conductorHeartbeatMs' | 'conductorTimeoutMs' | 'publicUrl'
  >;
  readonly database: Database;
  readonly drivers: readonly string[];
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

/**
 * Enters this conductor into the register, and has it give signs of life until it leaves.
 * @throws AppError `conflict` when a living process has its name.
 */
export async function joinRegister(options: RegisterOptions): Promise<Register> {
  const { config, database, clock, log, metrics } = options;
  const { db } = database;
  const self: ConductorDescription = {
    hostname: config.conductorName,
    conductorGroup: config.conductorGroup,
    drivers: [...options.drivers],
    publicUrl: config.publicUrl,
  };
  const state: { hasLeft: boolean; known: readonly ConductorRow[]; again?: Persistent } = { hasLeft: false, known: [] };
  const name = database.lock(conductorLock(config.conductorName), () => state.again?.begin());
  const generation = await takeName(options, name)
    .then(() => insertConductor(db, self))
    .catch(async (error: unknown) => {
      await name.release();
      throw error;
    });
  const life = { hostname: self.hostname, generation };
  const { promise: superseded, resolve: giveUp } = Promise.withResolvers<AppError>();
  const readLive = async (): Promise<readonly ConductorRow[]> => {
    const all = await listConductors(db, config.conductorTimeoutMs);
    // this conductor is alive, however late its heartbeat
    state.known = all.filter((each) => (each.hostname === self.hostname ? !state.hasLeft : each.alive));
    return state.known;
  };
  /** The heartbeat comes before the session counts: who has seen the name free sees that it is not the same session. */
  const live = async (): Promise<boolean> => {
    // another process that has the name has written another generation
    const hasName = await name.take();
    if (!(await recordConductorHeartbeat(db, life, hasName))) {
      giveUp(new AppError('conflict', `another process runs as conductor ${self.hostname} now`));
    }
    if (hasName) await database.count();
    return hasName;
  };
  const again = persistently(async () => {
    if (!state.hasLeft && !(await live())) throw new AppError('conflict', 'the name is not free yet');
  });
  state.again = again;
  const beat = async (): Promise<void> => {
    await live();
    await readLive();
  };
  database.beginLife();
  if (!(await live())) again.begin();
  await readLive();
  const beats = startPeriodicTasks([{ name: 'heartbeat', periodMs: config.conductorHeartbeatMs, run: beat }], {
    clock,
    log,
    metrics,
  });
  const leave = async (): Promise<void> => {
    if (state.hasLeft) return;
    state.hasLeft = true;
    state.known = state.known.filter(({ hostname }) => hostname !== self.hostname);
    await Promise.all([beats.stop(), again.stop()]);
    await recordConductorStop(db, life);
  };
  return {
    live: readLive,
    recent: () => state.known,
    superseded,
    leave,
    close: async () => {
      try {
        await leave();
      } catch (err) {
        // others see it by the heartbeats that no longer come
        log.warn({ err }, 'the stop of this conductor could not be recorded');
      } finally {
        await name.release();
      }
    },
  };
}

interface Persistent {
  begin(): void;
  stop(): Promise<void>;
}

/** Does it until it succeeds, once at a time. */
function persistently(work: () => Promise<void>): Persistent {
  const stopping = new AbortController();
  const state: { running?: Promise<void> | undefined } = {};
  const run = async (): Promise<void> => {
    // what is wrong with the database, every other query says
    await retry(work, { signal: stopping.signal, delayMs: () => comeBackMs }).catch(() => undefined);
    state.running = undefined;
  };
  return {
    begin: () => {
      state.running ??= run();
    },
    stop: async () => {
      stopping.abort();
      await state.running;
    },
  };
}

/**
 * A name is taken while its process holds the lock and gives signs of life. One of both is not enough: a computer that
 * is gone keeps its lock for a while, and a process that was killed seems alive for a while.
 */
function takeName({ config, database, clock }: RegisterOptions, name: SessionLock): Promise<void> {
  const { conductorName, conductorTimeoutMs } = config;
  const take = async (): Promise<void> => {
    if (await name.take()) return;
    const known = await findConductor(database.db, conductorName, conductorTimeoutMs);
    if (known && !known.alive && known.stoppedAt === null) return;
    throw new AppError(
      'conflict',
      `BATON_CONDUCTOR_NAME: a conductor named ${conductorName} runs on this database already` +
        `${known ? ` (${known.publicUrl})` : ''}: give each one a name of its own`,
    );
  };
  const passes = (error: unknown): boolean => errorCode(error) === 'conflict';
  return retry(take, { clock, attempts: nameTries, passes, delayMs: () => nameTryMs });
}
