import { sql } from 'drizzle-orm';
import { type Database, openDatabase } from '#conductor/kernel/db/open.ts';
import { readObserved, readReservations } from '#conductor/sites/nodes/read-observed.ts';
import { type Figure, median, round } from '#test/bench/area.ts';
import { startPostgresql } from '#test/support/postgresql.ts';

const rounds = 7;

/**
 * Measures what a beat reads of 10,000 nodes at work, from a PostgreSQL that has not analysed its tables yet, as in the
 * first minute of a site: of each its standing with flow and step, and its reservation. The baseline is ten times what
 * 1,000 take.
 */
export async function measureSiteLook(): Promise<Record<string, Figure>> {
  const [small, large] = [await lookMs(1000), await lookMs(10_000)];
  const linear = small * 10;
  return {
    look_ms_10000: { value: round(large), unit: 'ms', baseline: round(linear), ratio: round(linear / large, 2) },
  };
}

async function lookMs(count: number): Promise<number> {
  const server = await startPostgresql({ durable: true });
  try {
    const database = await openDatabase({ url: server.url, dataDirectory: '' });
    try {
      await fill(database, count);
      return await look(database, count);
    } finally {
      await database.close();
    }
  } finally {
    await server.close();
  }
}

async function fill({ db }: Database, count: number): Promise<void> {
  await db.execute(sql`
    insert into nodes (uuid, name, driver, network_interface, provision_state)
    select gen_random_uuid(), 'n' || i, 'redfish', 'noop', 'deploying' from generate_series(1, ${count}::int) i`);
  await db.execute(sql`
    insert into flows (uuid, node_uuid, kind, state) select gen_random_uuid(), uuid, 'deploy', 'running' from nodes`);
  await db.execute(sql`
    insert into flow_steps (uuid, flow_uuid, phase, position, interface, step, priority, origin, in_band, state)
    select gen_random_uuid(), uuid, 'main', i, 'deploy', 's' || i, 0, 'core', true,
      case when i = 3 then 'running' else 'pending' end
    from flows, generate_series(1, 8) i`);
  await db.execute(sql`
    insert into allocations (uuid, name, state, resource_class, node_uuid, action_id)
    select gen_random_uuid(), name, 'active', 'bench', uuid, 'A' from nodes`);
}

async function look({ db }: Database, count: number): Promise<number> {
  const names = Array.from({ length: count }, (_, index) => `n${index + 1}`);
  const times: number[] = [];
  for (let index = 0; index < rounds; index += 1) {
    const startedAt = performance.now();
    const observed = await readObserved(db, names);
    const reservations = await readReservations(
      db,
      [...observed.values()].map(({ node }) => node.uuid),
    );
    times.push(performance.now() - startedAt);
    const atWork = [...observed.values()].filter(({ flow }) => flow?.step?.name === 'deploy.s3').length;
    if (atWork !== count || reservations.size !== count) {
      throw new Error(`${atWork} of ${count} nodes are at work, and ${reservations.size} reserved`);
    }
  }
  return median(times);
}
