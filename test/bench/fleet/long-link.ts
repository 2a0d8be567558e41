import { Client } from 'pg';
import { type BenchContext, type Figure, median, round } from '#test/bench/area.ts';
import { takeFrom, work } from '#test/bench/fleet/work.ts';
import { loadAverage } from '#test/bench/process-figures.ts';
import { prepareConductor } from '#test/support/conductor.ts';
import { fillFleet } from '#test/support/fill-fleet.ts';
import { createOperator } from '#test/support/operator.ts';
import { startPostgresql } from '#test/support/postgresql.ts';
import { openSlowWay } from '#test/support/slow-way.ts';

const nodes = 200;
const repeats = 5;
const link = { roundTripMs: 50, lostOneIn: 100 } as const;
const measured = ['show a node', 'patch a node', 'manage', 'provide', 'deploy', 'undeploy', 'switch power', 'allocate'];

/** Compares the work of a conductor beside its database with that of one 50 ms and 1 % loss away from it. */
export async function measureLongLink({ say }: BenchContext): Promise<Record<string, Figure>> {
  const near = await measureAt(0, say);
  const far = await measureAt(link.roundTripMs, say);
  return Object.fromEntries(
    measured.map((name) => {
      const [value, baseline] = [far.get(name) ?? Number.NaN, near.get(name) ?? Number.NaN];
      const figure = {
        value: round(value, 0),
        unit: 'ms',
        baseline: round(baseline, 0),
        ratio: round(baseline / value, 2),
      };
      return [`link_${name.replaceAll(' ', '_')}_ms_p50`, figure];
    }),
  );
}

async function measureAt(roundTripMs: number, say: (line: string) => void): Promise<ReadonlyMap<string, number>> {
  await using opening = new AsyncDisposableStack();
  const server = await startPostgresql();
  opening.defer(() => server.close());
  const way = roundTripMs > 0 ? await openSlowWay(server.url, link) : undefined;
  opening.defer(() => way?.close());
  const conductor = await prepareConductor({ DATABASE_URL: way?.url ?? server.url, BATON_LOG_LEVEL: 'error' });
  opening.defer(() => conductor.close());
  const startedAt = performance.now();
  await conductor.start();
  say(`a conductor ${roundTripMs} ms away starts in ${round((performance.now() - startedAt) / 1000)} s`);
  const database = new Client({ connectionString: server.url });
  await database.connect();
  opening.defer(() => database.end());
  await fillFleet(database, { from: 0, to: nodes });
  const operator = createOperator(conductor.url);
  const take = takeFrom({ from: 0, to: nodes });
  const medians = new Map<string, number>();
  for (const name of measured) {
    const times: number[] = [];
    for (let index = 0; index < repeats; index += 1) {
      const begunAt = performance.now();
      await work[name]?.({ operator, database, take });
      times.push(performance.now() - begunAt);
    }
    medians.set(name, median(times));
    say(`${roundTripMs} ms away: ${name}: ${round(median(times), 0)} ms; load ${await loadAverage()}`);
  }
  return medians;
}
