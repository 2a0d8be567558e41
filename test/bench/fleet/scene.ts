import { readdir, readFile } from 'node:fs/promises';
import { Client } from 'pg';
import { type Machines, startMachines } from '#test/bench/fleet/start-machines.ts';
import { cpuSeconds, residentMegabytes } from '#test/bench/process-figures.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { type PostgresServer, startPostgresql } from '#test/support/postgresql.ts';

/** Conductors on one PostgreSQL that counts its statements, and simulated machines. */
export interface FleetScene {
  readonly conductors: readonly ConductorProcess[];
  readonly machines: Machines;
  readonly database: Client;
  /** Waits until a statement that answers one row answers `true` in its first column. */
  until(what: string, statement: string): Promise<void>;
  /** Runs, and says what it took of each kind of process, and of the database. */
  spent<T>(act: () => Promise<T>): Promise<{ readonly result: T; readonly cost: Cost }>;
  /** The most that a conductor has resident, now or (`VmHWM`) ever. */
  conductorMegabytes(which: 'VmRSS' | 'VmHWM'): Promise<number>;
  close(): Promise<void>;
}

/** Cost of something: seconds, seconds of CPU, and what PostgreSQL counted. */
export interface Cost {
  readonly wall: number;
  readonly conductors: number;
  readonly postgresql: number;
  readonly machines: number;
  readonly statements: number;
  readonly walMegabytes: number;
  readonly databaseMegabytes: number;
}

export interface SceneOptions {
  readonly nodes: number;
  readonly conductors: number;
  readonly groups: number;
  readonly settings: Readonly<Record<string, string>>;
}

/** Settings as `docs/scale.md` recommends for a fleet. */
const serverSettings = ['shared_preload_libraries=pg_stat_statements', 'shared_buffers=512MB', 'max_wal_size=4GB'];

/** Settings with which each conductor writes a CPU profile as it ends, into the folder named by `FLEET_PROFILE`. */
const profileFolder = process.env['FLEET_PROFILE'];
const profiled: Readonly<Record<string, string>> =
  profileFolder === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profileFolder}` };

export async function openScene(options: SceneOptions): Promise<FleetScene> {
  await using opening = new AsyncDisposableStack();
  const server: PostgresServer = await startPostgresql({ durable: true, serverSettings });
  opening.defer(() => server.close());
  const database = new Client({ connectionString: server.url });
  database.on('error', () => undefined);
  await database.connect();
  opening.defer(() => database.end());
  await database.query('create extension pg_stat_statements');
  const conductors: ConductorProcess[] = [];
  for (let index = 0; index < options.conductors; index += 1) {
    const conductor = await prepareConductor({
      ...options.settings,
      DATABASE_URL: server.url,
      BATON_CONDUCTOR_NAME: `fleet-${index}`,
      BATON_LOG_LEVEL: 'error',
      ...profiled,
    });
    opening.defer(() => conductor.close());
    await conductor.start();
    conductors.push(conductor);
  }
  const urls = conductors.map(({ url }) => url);
  const machines = await startMachines(options.nodes, { groups: options.groups, urls });
  opening.defer(() => machines.close());
  const opened = opening.move();
  const count = (): Promise<Omit<Cost, 'wall'>> => countNow(database, conductors, machines);
  return {
    conductors,
    machines,
    database,
    until: async (what, statement) => {
      const holds = async (): Promise<true | undefined> => {
        const { rows } = await database.query<[boolean]>({ text: statement, rowMode: 'array' });
        return rows[0]?.[0] ? true : undefined;
      };
      await waitUntil(what, holds, { timeoutMs: 1_200_000, everyMs: 500 });
    },
    spent: async (act) => {
      const before = await count();
      const startedAt = performance.now();
      const result = await act();
      const wall = (performance.now() - startedAt) / 1000;
      return { result, cost: { wall, ...difference(before, await count()) } };
    },
    conductorMegabytes: async (which) =>
      Math.max(...(await Promise.all(conductors.map((each) => residentMegabytes(each.pid(), which))))),
    close: () => opened.disposeAsync(),
  };
}

interface Counted {
  readonly pid: number;
  readonly statements: number;
  readonly wal: number;
  readonly size: number;
}

async function countNow(
  database: Client,
  conductors: readonly ConductorProcess[],
  machines: Machines,
): Promise<Omit<Cost, 'wall'>> {
  const { rows } = await database.query<Counted>(
    `select pg_backend_pid() as pid, pg_database_size(current_database())::float8 as size,
       (pg_current_wal_lsn() - '0/0')::float8 as wal,
       (select coalesce(sum(calls), 0)::float8 from pg_stat_statements) as statements`,
  );
  const [row] = rows;
  if (!row) throw new Error('PostgreSQL has counted nothing');
  const own = await Promise.all(conductors.map((each) => cpuSeconds(each.pid())));
  return {
    conductors: own.reduce((sum, seconds) => sum + seconds, 0),
    postgresql: await serverCpuSeconds(row.pid),
    machines: await machines.cpuSeconds(),
    statements: row.statements,
    walMegabytes: row.wal / 1e6,
    databaseMegabytes: row.size / 1e6,
  };
}

function difference(before: Omit<Cost, 'wall'>, after: Omit<Cost, 'wall'>): Omit<Cost, 'wall'> {
  return {
    conductors: after.conductors - before.conductors,
    postgresql: after.postgresql - before.postgresql,
    machines: after.machines - before.machines,
    statements: after.statements - before.statements,
    walMegabytes: after.walMegabytes - before.walMegabytes,
    databaseMegabytes: after.databaseMegabytes - before.databaseMegabytes,
  };
}

/** The server of one of its backends: all of its processes, those that have ended too. */
async function serverCpuSeconds(backend: number): Promise<number> {
  const fieldsOf = async (pid: number | string): Promise<number[]> =>
    ((await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')).split(') ').at(-1) ?? '').split(' ').map(Number);
  const server = (await fieldsOf(backend))[1];
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const all = await Promise.all(pids.map(async (pid) => ({ pid: Number(pid), fields: await fieldsOf(pid) })));
  const ticks = all.map(({ pid, fields: [, parent, ...rest] }) => {
    const [own, children] = [(rest[9] ?? 0) + (rest[10] ?? 0), (rest[11] ?? 0) + (rest[12] ?? 0)];
    return pid === server ? own + children : parent === server ? own : 0;
  });
  return ticks.reduce((sum, each) => sum + each, 0) / 100;
}

/** `12.3 s; CPU …` for the person who watches. */
export function describeCost(cost: Cost, count: number): string {
  const each = (value: number, digits = 1): string => (value / count).toFixed(digits);
  return (
    `${cost.wall.toFixed(1)} s; each: ${each(cost.statements)} statements, ${each(1000 * cost.conductors)} ms of the conductors' CPU, ` +
    `${each(1000 * cost.postgresql)} ms of PostgreSQL's, ${each(1000 * cost.machines)} ms of the machines', ` +
    `${each(1000 * cost.walMegabytes)} kB of WAL, ${each(1000 * cost.databaseMegabytes)} kB of database`
  );
}

/** The heaviest statements since the last reset, one a line. */
export async function heaviest(
  database: Client,
  limit = 12,
  by: 'total_exec_time' | 'calls' = 'total_exec_time',
): Promise<readonly string[]> {
  const { rows } = await database.query<{ line: string }>(
    `select format('%s ms in all, %s calls, %s ms and %s rows each, %s blocks each: %s', round(total_exec_time), calls,
       round(mean_exec_time::numeric, 2), round(rows::numeric / calls, 1), round((shared_blks_hit + shared_blks_read)::numeric / calls, 1),
       left(regexp_replace(query, '\\s+', ' ', 'g'), 230)) as line
     from pg_stat_statements order by ${by} desc limit $1`,
    [limit],
  );
  return rows.map(({ line }) => line);
}
