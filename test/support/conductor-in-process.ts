import type { HttpBindings } from '@hono/node-server';
import type { DriverOptions } from '#conductor/drivers/table/registry.ts';
import type { Checkpoint } from '#conductor/flows/context.ts';
import { createApp } from '#conductor/http/app.ts';
import { listen } from '#conductor/http/listen.ts';
import { readConfig } from '#conductor/start/config.ts';
import { type ConductorContext, openContext } from '#conductor/start/open-context.ts';
import { systemClock } from '#shared/clock.ts';
import type { Log } from '#shared/log.ts';
import { openTestDatabase } from '#test/support/test-database.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

/** A conductor in this process whose lives follow each other on one database and one port. */
export interface ConductorInProcess {
  readonly url: string;
  /** The life that answers now. */
  context(): ConductorContext;
  /**
   * From now on `strike` is asked at each checkpoint: `die` ends this life at once, as a crash does, and the next one
   * begins; an Error makes the step fail that has just acted.
   */
  atCheckpoints(strike: (name: Checkpoint, passed: number) => 'go on' | 'die' | Error): void;
  /** Checkpoints passed since `atCheckpoints`. */
  passed(): number;
  /** How often a life has ended by `die`. */
  deaths(): number;
  /** Waits until the life that follows the last death serves. */
  reborn(): Promise<void>;
  /**
   * The work over and over: the conductor dies at its first checkpoint, then at its second, …, until the work has ended
   * without a death.
   * @returns how often it has died
   */
  dieAtEach(work: RepeatedWork): Promise<number>;
  close(): Promise<void>;
}

export interface RepeatedWork {
  /** Brings everything to where the work starts. */
  readonly prepare?: () => Promise<void>;
  /** Until the work has ended. */
  readonly act: (checkpoint: number) => Promise<void>;
  readonly check: (checkpoint: number) => Promise<void>;
}

export async function startConductorInProcess(options: {
  readonly log: Log;
  readonly settings?: Readonly<Record<string, string>>;
  readonly drivers?: DriverOptions;
}): Promise<ConductorInProcess> {
  const database = await openTestDatabase();
  const config = readConfig({ BATON_CONDUCTOR_NAME: 'in-process', ...options.settings });
  let strike: Parameters<ConductorInProcess['atCheckpoints']>[0] = () => 'go on';
  let passed = 0;
  let deaths = 0;
  let serving: Promise<void> = Promise.resolve();
  let rebirth: Promise<void> = Promise.resolve();

  const beginLife = async () => {
    let isDead = false;
    const opened = await openContext(config, {
      log: options.log,
      ...(options.drivers ? { drivers: options.drivers } : {}),
      database,
      secrets: testSecrets,
      ...(options.drivers ? { drivers: options.drivers } : {}),
      checkpoint: (name) => {
        if (isDead) throw new Error('dead');
        passed += 1;
        const blow = strike(name, passed);
        if (blow instanceof Error) throw blow;
        if (blow === 'go on') return;
        isDead = true;
        deaths += 1;
        // nothing is recorded after this point: the scheduler's signal is aborted before the throw is seen
        serving = opened.close().then(async () => {
          life = await beginLife();
        });
        rebirth = serving.then(() => life.scheduler.reconcile());
        throw new Error('the conductor died here');
      },
    });
    return { ...opened, app: createApp(opened.context) };
  };
  let life = await beginLife();
  const answer = async (request: Request, bindings: HttpBindings): Promise<Response> => {
    await serving; // a process that is not there answers nothing
    return life.app.fetch(request, bindings);
  };
  const server = await listen(answer, { host: '127.0.0.1', port: 0 });
  const closing = new AbortController();
  const reconcile = async (): Promise<void> => {
    for (;;) {
      await systemClock.sleep(200, closing.signal).catch(() => undefined);
      if (closing.signal.aborted) return;
      await life.scheduler.reconcile();
    }
  };
  const reconciling = reconcile();
  const conductor: Omit<ConductorInProcess, 'dieAtEach'> = {
    url: server.url,
    context: () => life.context,
    atCheckpoints: (next) => {
      strike = next;
      passed = 0;
    },
    passed: () => passed,
    deaths: () => deaths,
    reborn: () => rebirth,
    close: async () => {
      closing.abort();
      await reconciling; // a look that is under way needs the database
      await rebirth;
      await server.close();
      await life.close();
      await database.close();
    },
  };
  return { ...conductor, dieAtEach: (work) => dieAtEach(conductor, work) };
}

async function dieAtEach(
  conductor: Omit<ConductorInProcess, 'dieAtEach'>,
  { prepare, act, check }: RepeatedWork,
): Promise<number> {
  const before = conductor.deaths();
  let hasDied = true;
  for (let checkpoint = 1; hasDied; checkpoint += 1) {
    await prepare?.();
    hasDied = false;
    conductor.atCheckpoints((_, passed) => {
      if (passed !== checkpoint) return 'go on';
      hasDied = true;
      return 'die';
    });
    await act(checkpoint);
    conductor.atCheckpoints(() => 'go on');
    // the last step's record is the flow's end: after it a life dies that has nothing left to do
    await conductor.reborn();
    await check(checkpoint);
  }
  return conductor.deaths() - before;
}
