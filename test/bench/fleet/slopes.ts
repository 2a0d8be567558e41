import { Client } from 'pg';
import { type BenchContext, type Figure, round } from '#test/bench/area.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { prepareConductor } from '#test/support/conductor.ts';
import { filledNode, fillFleet } from '#test/support/fill-fleet.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
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

/** Cost of the same work beside so many nodes. */
interface SlopePoint {
  readonly nodes: number;
  /** One of each kind of work: statements and blocks, by its name. */
  readonly work: ReadonlyMap<string, { readonly statements: number; readonly blocks: number }>;
  /** By id, of all work and a conductor's start. */
  readonly statements: ReadonlyMap<string, CountedStatement>;
}

const repeats = 10;

interface Worker {
  readonly operator: Operator;
  readonly database: Client;
  /** A node in this state that no other work has had. */
  readonly take: (state: FilledState) => { readonly name: string; readonly mac: string };
}

/** Racks as `fillFleet` deals them out. */
const states = ['enroll', 'manageable', 'available', 'available', 'active'] as const;
type FilledState = (typeof states)[number];

/** Requests of operators, clients and agents, each done on one node. */
const work: Readonly<Record<string, (worker: Worker) => Promise<unknown>>> = {
  'show a node': ({ operator, take }) => operator.node(take('available').name),
  'list 100 nodes': ({ operator }) => operator.call('GET', '/v1/nodes?limit=100'),
  'list 100 nodes in detail': ({ operator }) => operator.call('GET', '/v1/nodes/detail?limit=100'),
  'list the ports of a node': ({ operator, take }) => operator.call('GET', `/v1/nodes/${take('available').name}/ports`),
  'find a port': ({ operator, take }) => operator.call('GET', `/v1/ports?address=${take('available').mac}`),
  'list the history of a node': ({ operator, take }) =>
    operator.call('GET', `/v1/nodes/${take('available').name}/history`),
  'patch a node': ({ operator, take }) =>
    operator.call('PATCH', `/v1/nodes/${take('manageable').name}`, [{ op: 'add', path: '/extra/x', value: 1 }]),
  'set maintenance': ({ operator, take }) =>
    operator.call('PUT', `/v1/nodes/${take('manageable').name}/maintenance`, { reason: 'slope' }),
  'create a node': ({ operator, take }) =>
    operator.call('POST', '/v1/nodes', { name: `new-${take('active').name}`, driver: 'fake-hardware' }),
  manage: (worker) => move(worker, 'enroll', 'manage', 'manageable'),
  provide: (worker) => move(worker, 'manageable', 'provide', 'available'),
  deploy: (worker) => move(worker, 'available', 'active', 'active'),
  undeploy: (worker) => move(worker, 'active', 'deleted', 'available'),
  'switch power': async ({ operator, take }) => {
    const { name } = take('manageable');
    await operator.call('PUT', `/v1/nodes/${name}/states/power`, { target: 'power on' });
    await waitUntil(
      'power to be on',
      async () => (await operator.node(name))['power_state'] === 'power on' || undefined,
    );
  },
  allocate: async ({ operator }) => {
    const { uuid } = await operator.call('POST', '/v1/allocations', { resource_class: 'class2' });
    await waitUntil('a node', async () => {
      const { state } = await operator.call('GET', `/v1/allocations/${String(uuid)}`);
      return state === 'active' || undefined;
    });
  },
  'look up and beat': async ({ operator, database, take }) => {
    const { name, mac } = take('manageable');
    await database.query(`update nodes set provision_state = 'clean wait', maintenance = true where name = $1`, [name]);
    const { config } = await operator.call('GET', `/v1/lookup?addresses=${mac}`);
    const { agent_token } = config as { readonly agent_token: string };
    const beat = { callback_url: 'https://10.1.0.1:9999', agent_version: '11.3.0', agent_token };
    await operator.call('POST', `/v1/heartbeat/${name}`, beat);
  },
};

async function move({ operator, take }: Worker, from: FilledState, verb: string, to: string): Promise<void> {
  const { name } = take(from);
  await operator.provision(name, verb);
  await operator.waitForState(name, to);
}

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
    const takes = takeFrom({ from, to: nodes });
    const costs = new Map<string, { readonly statements: number; readonly blocks: number }>();
    for (const [name, act] of Object.entries(work)) {
      const before = await readCounts(database);
      for (let index = 0; index < repeats; index += 1) await act({ operator, database, take: takes });
      const cost = costOf(before, await readCounts(database));
      costs.set(name, cost);
      say(`${nodes} nodes: ${name}: ${cost.statements} statements, ${cost.blocks} blocks`);
    }
    points.push({ nodes, work: costs, statements: await readCounts(database) });
    from = nodes;
  }
  return points;
}

function takeFrom({ from, to }: { readonly from: number; readonly to: number }): Worker['take'] {
  const left = new Map(states.map((state) => [state, [] as number[]]));
  for (let number = from; number < to; number += 1) left.get(states[number % states.length] ?? 'enroll')?.push(number);
  return (state) => {
    const number = left.get(state)?.pop();
    if (number === undefined) throw new Error(`no node in state ${state} is left`);
    return filledNode(number);
  };
}

async function readCounts(database: Client): Promise<ReadonlyMap<string, CountedStatement>> {
  const { rows } = await database.query<CountedStatement>(
    `select queryid::text as id, regexp_replace(query, '\\s+', ' ', 'g') as query, calls::float8, rows::float8,
       (shared_blks_hit + shared_blks_read)::float8 as blocks
     from pg_stat_statements where query !~ 'pg_stat_statements|maintenance = true where'`,
  );
  return new Map(rows.map((row) => [row.id, row]));
}

function costOf(before: ReadonlyMap<string, CountedStatement>, after: ReadonlyMap<string, CountedStatement>) {
  let [statements, blocks] = [0, 0];
  for (const [id, { calls, blocks: read }] of after) {
    statements += calls - (before.get(id)?.calls ?? 0);
    blocks += read - (before.get(id)?.blocks ?? 0);
  }
  return { statements: Math.round(statements / repeats), blocks: Math.round(blocks / repeats) };
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

/** Beside ten times the nodes: statements that read more than three times as much, and what each kind of work reads. */
export async function measureGrowth({ say }: BenchContext, nodes: number): Promise<Record<string, Figure>> {
  const points = await measureSlopes([Math.ceil(nodes / 10), nodes], say);
  const statements = growing(points, 3);
  for (const line of statements) say(`grows: ${line}`);
  const [few, many] = points;
  return {
    growing_statements: {
      value: statements.length,
      unit: 'statements that read 3 times as much beside 10 times the nodes',
    },
    ...Object.fromEntries(
      [...(many?.work ?? [])].map(([name, { blocks }]) => {
        const baseline = few?.work.get(name)?.blocks ?? Number.NaN;
        const figure = { value: blocks, unit: 'blocks', baseline, ratio: round(baseline / blocks, 2) };
        return [`${name.replaceAll(' ', '_')}_blocks`, figure];
      }),
    ),
  };
}
