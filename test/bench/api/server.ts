import { cpuSeconds, loadAverage } from '#test/bench/process-figures.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { startPostgresql } from '#test/support/postgresql.ts';

export type Engine = 'embedded' | 'pg';

/** A conductor as it ships, in a process of its own, on either database. */
export interface MeasuredServer {
  readonly engine: Engine;
  readonly conductor: ConductorProcess;
  readonly operator: Operator;
  /** `undefined` with a private server. */
  readonly databaseUrl: string | undefined;
  /** Says beside what comes of it what the conductor's CPU took, and how busy the machine was with others. */
  readonly timed: <T>(what: string, count: (result: T) => number, act: () => Promise<T>) => Promise<T>;
  close(): Promise<void>;
}

export async function startServer(
  engine: Engine,
  say: (line: string) => void,
  settings: Readonly<Record<string, string>> = {},
): Promise<MeasuredServer> {
  const database = engine === 'pg' ? await startPostgresql({ durable: true }) : undefined;
  const conductor = await prepareConductor({
    ...(database ? { DATABASE_URL: database.url } : {}),
    BATON_LOG_LEVEL: 'warn',
    BATON_RECONCILE_INTERVAL: '5',
    ...settings,
  });
  const close = async (): Promise<void> => {
    await conductor.close();
    await database?.close();
  };
  try {
    await conductor.start();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    engine,
    conductor,
    operator: createOperator(conductor.url),
    databaseUrl: database?.url,
    timed: async (what, count, act) => {
      const before = await cpuSeconds(conductor.pid());
      const result = await act();
      const spent = (await cpuSeconds(conductor.pid())) - before;
      const each = ((1000 * spent) / count(result)).toFixed(2);
      say(`${engine}: ${what}: ${each} ms of the conductor's CPU each; load ${await loadAverage()}`);
      return result;
    },
    close,
  };
}
