import { PgDialect } from 'drizzle-orm/pg-core';
import { deleteOldFlows } from '#conductor/flows/log/flow-store.ts';
import { type BenchContext, type Figure, round } from '#test/bench/area.ts';
import type { FleetScene } from '#test/bench/fleet/scene.ts';
import { filledNode, fillFleet } from '#test/support/fill-fleet.ts';
import { createOperator } from '#test/support/operator.ts';

const filled = 25;
/** Rounds of deploys and releases, after which no table may go on growing: 300 entries of history come last. */
const rounds = 64;
const lookEvery = 16;

/** Measures what the database keeps of deploys, while they are new and when each has made an older one be forgotten. */
export async function measurePruned(
  { say }: BenchContext,
  { conductors, database }: FleetScene,
): Promise<Record<string, Figure>> {
  await fillFleet(database, { from: 0, to: filled });
  const operator = createOperator(conductors[0]?.url ?? '');
  const names = Array.from({ length: filled }, (_, number) => number)
    .filter((number) => number % 5 === 2 || number % 5 === 3)
    .map((number) => filledNode(number).name);
  const cycle = async (name: string): Promise<void> => {
    await operator.provision(name, 'active');
    await operator.waitForState(name, 'active');
    await operator.provision(name, 'deleted');
    await operator.waitForState(name, 'available');
  };
  const sizes = [await sizesOf(database)];
  for (let done = 1; done <= rounds; done += 1) {
    await Promise.all(names.map(cycle));
    if (done % lookEvery > 0) continue;
    // the task does so every ten minutes
    await database.query(new PgDialect().sqlToQuery(deleteOldFlows).sql);
    sizes.push(await sizesOf(database));
    const grown = differences(sizes.at(-2), sizes.at(-1)).map(([table, bytes]) => `${table} ${round(bytes / 1000)} kB`);
    say(`after ${done} deploys of each node: grown since the last look: ${grown.join(', ') || 'nothing'}`);
  }
  const each = (from: number, to: number): number =>
    round((totalOf(sizes.at(to)) - totalOf(sizes.at(from))) / 1000 / (names.length * lookEvery), 2);
  return {
    new_deploy_kb: { value: each(0, 1), unit: 'kB a deploy and its release, while nothing is forgotten' },
    pruned_deploy_kb: { value: each(-2, -1), unit: 'kB a deploy and its release, when older ones are forgotten' },
    growing_tables: { value: differences(sizes.at(-2), sizes.at(-1)).length, unit: 'tables that grow even then' },
  };
}

type Sizes = ReadonlyMap<string, number>;

async function sizesOf(database: FleetScene['database']): Promise<Sizes> {
  await database.query('vacuum');
  const { rows } = await database.query<{ name: string; bytes: number }>(
    `select relname as name, pg_total_relation_size(oid)::float8 as bytes from pg_class
     where relkind = 'r' and relnamespace = 'public'::regnamespace`,
  );
  return new Map(rows.map(({ name, bytes }) => [name, bytes]));
}

function totalOf(sizes: Sizes = new Map()): number {
  return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0);
}

/** Finds tables that have grown, and by how much. */
function differences(before: Sizes = new Map(), after: Sizes = new Map()): [string, number][] {
  return [...after]
    .map(([name, bytes]): [string, number] => [name, bytes - (before.get(name) ?? 0)])
    .filter(([, bytes]) => bytes > 0);
}
