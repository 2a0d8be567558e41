import { Client } from 'pg';
import { systemClock } from '#shared/clock.ts';
import { load } from '#test/bench/api/load.ts';
import { type BenchContext, type Figure, round } from '#test/bench/area.ts';
import { takeFrom, work } from '#test/bench/fleet/work.ts';
import { cpuSeconds, loadAverage } from '#test/bench/process-figures.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { fillFleet } from '#test/support/fill-fleet.ts';
import { createOperator } from '#test/support/operator.ts';
import { startPostgresql } from '#test/support/postgresql.ts';

/** One statement that conductors send, as PostgreSQL counted it. */
interface CountedStatement {
  readonly id: string;
  readonly query: string;
  readonly calls: number;
  readonly rows: number;
  /** 8 KiB each, in memory or not. */
  readonly blocks: number;
}

interface WorkCost {
  readonly statements: number;
  readonly blocks: number;
}

/** Cost of the same work beside so many nodes. */
interface SlopePoint {
  readonly nodes: number;
  /** One of each kind of work: statements and blocks, by its name. */
  readonly work: ReadonlyMap<string, WorkCost>;
  /** Each of all nodes that begin the same at once: cost, and milliseconds of the conductor's CPU. */
  readonly together: WorkCost & { readonly cpuMs: number };
  /** By id, of all work and a conductor's start. */
  readonly statements: ReadonlyMap<string, CountedStatement>;
}

const repeats = 10;
/** Nodes that all work needs together: each takes some that no other has. */
const fewest = 300;
const quietMs = 3000;
/** Statements that a conductor at rest does not reach in that time. */
const quietCalls = 60;

/**
 * Fills a fleet to each of these sizes, smallest first, does the same work beside each, and counts what PostgreSQL had to
 * do. Counts say more than seconds where others use the machine.
 */
async function measureSlopes(sizes: readonly number[], say: (line: string) => void): Promise<SlopePoint[]> {
  await using opening = new AsyncDisposableStack();
  const server = await startPostgresql({ serverSettings: ['shared_preload_libraries=pg_stat_statements'] });
  opening.defer(() => server.close());
  const database = new Client({ connectionString: server.url });
  database.on('error', () => undefined);
  await database.connect();
  opening.defer(() => database.end());
  await database.query('create extension pg_stat_statements');
  const conductor = await prepareConductor({
    DATABASE_URL: server.url,
    BATON_LOG_LEVEL: 'error',
    BATON_RECONCILE_INTERVAL: '1',
  });
  opening.defer(() => conductor.close());
  await conductor.start();
  const operator = createOperator(conductor.url);
  const points: SlopePoint[] = [];
  let from = 0;
  for (const nodes of sizes) {
    await conductor.kill('SIGTERM');
    await fillFleet(database, { from, to: nodes });
    await database.query('select pg_stat_statements_reset()');
    await conductor.start();
    await settled(database);
    const takes = takeFrom({ from, to: nodes });
    const costs = new Map<string, WorkCost>();
    for (const [name, act] of Object.entries(work)) {
      const before = await readCounts(database);
      for (let index = 0; index < repeats; index += 1) await act({ operator, database, take: takes });
      const cost = costOf(before, await readCounts(database), repeats);
      costs.set(name, cost);
      say(`${nodes} nodes: ${name}: ${cost.statements} statements, ${cost.blocks} blocks`);
    }
    const statements = await readCounts(database);
    const together = await manageTogether({ conductor, database, say });
    points.push({ nodes, work: costs, together, statements });
    from = nodes;
  }
  return points;
}

/** `manage` of all nodes that are left in `enroll`, a fifth of the fleet: each must cost what one alone does. */
async function manageTogether({
  conductor,
  database,
  say,
}: {
  readonly conductor: ConductorProcess;
  readonly database: Client;
  readonly say: (line: string) => void;
}): Promise<SlopePoint['together']> {
  const { rows } = await database.query<{ name: string }>("select name from nodes where provision_state = 'enroll'");
  const [before, cpuBefore] = [await readCounts(database), await cpuSeconds(conductor.pid())];
  const startedAt = performance.now();
  await load({
    url: conductor.url,
    connections: 16,
    next: (index) => {
      const name = rows[index]?.name;
      const body = JSON.stringify({ target: 'manage' });
      return name === undefined ? undefined : { method: 'PUT', path: `/v1/nodes/${name}/states/provision`, body };
    },
  });
  await waitUntil(
    'all to be manageable',
    async () => {
      const states = "select 1 from nodes where provision_state in ('enroll', 'verifying') limit 1";
      return (await database.query(states)).rows.length === 0 || undefined;
    },
    { timeoutMs: 1_200_000, everyMs: 500 },
  );
  const seconds = (performance.now() - startedAt) / 1000;
  const cpuMs = (1000 * ((await cpuSeconds(conductor.pid())) - cpuBefore)) / rows.length;
  const cost = costOf(before, await readCounts(database), rows.length);
  say(
    `${rows.length} managed together: ${cost.statements} statements, ${cost.blocks} blocks, ${round(cpuMs)} ms of the conductor's CPU each; ${round(seconds)} s; load ${await loadAverage()}`,
  );
  return { ...cost, cpuMs };
}

/** Waits until a conductor's start and its first round of power are over: they are no part of the work. */
async function settled(database: Client): Promise<void> {
  const calls = async (): Promise<number> =>
    [...(await readCounts(database)).values()].reduce((sum, each) => sum + each.calls, 0);
  for (let before = -quietCalls; ; ) {
    const now = await calls();
    if (now - before < quietCalls) return;
    before = now;
    await systemClock.sleep(quietMs);
  }
}

async function readCounts(database: Client): Promise<ReadonlyMap<string, CountedStatement>> {
  const { rows } = await database.query<CountedStatement>(
    `select queryid::text as id, regexp_replace(query, '\\s+', ' ', 'g') as query, calls::float8, rows::float8,
       (shared_blks_hit + shared_blks_read)::float8 as blocks
     from pg_stat_statements where query !~ 'pg_stat_statements|maintenance = true where'`,
  );
  return new Map(rows.map((row) => [row.id, row]));
}

function costOf(
  before: ReadonlyMap<string, CountedStatement>,
  after: ReadonlyMap<string, CountedStatement>,
  times: number,
): WorkCost {
  let [statements, blocks] = [0, 0];
  for (const [id, { calls, blocks: read }] of after) {
    statements += calls - (before.get(id)?.calls ?? 0);
    blocks += read - (before.get(id)?.blocks ?? 0);
  }
  return { statements: Math.round(statements / times), blocks: Math.round(blocks / times) };
}

/** Statements that cost more beside more nodes: blocks of one call, beside the fewest and the most nodes. */
function growing(points: readonly SlopePoint[], factor: number): readonly string[] {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return [];
  const each = ({ blocks, calls }: CountedStatement): number => blocks / calls;
  return [...last.statements.values()]
    .flatMap((statement) => {
      const before = first.statements.get(statement.id);
      if (!before || each(statement) < factor * Math.max(each(before), 10)) return [];
      return [{ before: each(before), after: each(statement), statement }];
    })
    .toSorted((a, b) => b.after * b.statement.calls - a.after * a.statement.calls)
    .map(
      ({ before, after, statement: { calls, query } }) =>
        `${before.toFixed(0)} to ${after.toFixed(0)} blocks, ${calls} calls: ${query.slice(0, 300)}`,
    );
}

/** Counts statements that read three times as much beside ten times the nodes, and what each kind of work reads. */
export async function measureGrowth({ say }: BenchContext, nodes: number): Promise<Record<string, Figure>> {
  const smaller = Math.max(fewest, Math.ceil(nodes / 10));
  const points = await measureSlopes([smaller, 10 * smaller], say);
  const statements = growing(points, 3);
  for (const line of statements) say(`grows: ${line}`);
  const [few, many] = points;
  return {
    growing_statements: {
      value: statements.length,
      unit: 'statements that read 3 times as much beside 10 times the nodes',
    },
    manage_together_blocks: slope(few?.together.blocks, many?.together.blocks, 'blocks a node'),
    manage_together_cpu_ms: slope(few?.together.cpuMs, many?.together.cpuMs, "ms of the conductor's CPU a node"),
    ...Object.fromEntries(
      [...(many?.work ?? [])].map(([name, { blocks }]) => {
        const figure = slope(few?.work.get(name)?.blocks, blocks, 'blocks');
        return [`${name.replaceAll(' ', '_')}_blocks`, figure];
      }),
    ),
  };
}

/** A figure beside many nodes, with that beside few as its baseline. */
function slope(baseline = Number.NaN, value = Number.NaN, unit = ''): Figure {
  return { value: round(value), unit, baseline: round(baseline), ratio: round(baseline / value, 2) };
}
