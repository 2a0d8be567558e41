import { type Area, type BenchContext, type Figure, percentile, round } from '#test/bench/area.ts';
import { measurePromotions } from '#test/bench/failover/promotions.ts';
import { loadAverage } from '#test/bench/process-figures.ts';
import { type ConductorPair, deployedDisk, startConductorPair } from '#test/support/conductor-pair.ts';

const rounds = 3;
const machines = 8;

/** Faults that may befall a conductor that is at work; it is paused when one does. */
const faults = {
  kill: (pair: ConductorPair) => pair.first.kill('SIGKILL'),
  freeze: () => Promise.resolve(),
  partition: async (pair: ConductorPair) => {
    pair.way.cutCable();
    process.kill(pair.first.pid(), 'SIGCONT');
  },
} as const;

/**
 * How long nobody acts when a conductor dies, with default settings: from its last act to the first of another on its nodes;
 * and what becomes of answers when the database's server does.
 */
export const failoverArea: Area = {
  name: 'failover',
  measure: async (context) => {
    const figures: Record<string, Figure> = {};
    let doubles = 0;
    for (const [fault, strike] of Object.entries(faults)) {
      const gaps: number[] = [];
      while (gaps.length < rounds) {
        const seen = await measureOnce(strike);
        // it had nothing to leave: it was paused between a flow's end and its lease's
        if (seen.seconds !== null) gaps.push(seen.seconds);
        doubles += seen.doubles;
      }
      await say(context, fault, gaps);
      figures[`${fault}_s`] = { value: round(percentile(gaps, 1)), unit: 's' };
    }
    const promoted = await measurePromotions(context.say);
    return {
      ...figures,
      ...promoted,
      doubles: { value: doubles, unit: `of ${rounds * machines * Object.keys(faults).length}` },
    };
  },
};

async function say({ say }: BenchContext, fault: string, gaps: readonly number[]): Promise<void> {
  say(`${fault}: ${gaps.map((gap) => round(gap)).join(', ')} s; load ${await loadAverage()}`);
}

async function measureOnce(
  strike: (pair: ConductorPair) => Promise<void>,
): Promise<{ readonly seconds: number | null; readonly doubles: number }> {
  const pair = await startConductorPair({ machines, stepMs: 50, durable: true });
  try {
    const held = await pair.pauseAtWork();
    const struckAt = await databaseTime(pair);
    await strike(pair);
    for (const name of pair.names) await pair.operator.waitForState(name, 'active');
    const { rows } = await pair.database.query<{ seconds: number | null }>(
      `select extract(epoch from min(e.at) - (select max(at) from flow_events where conductor = 'first' and at < $2::timestamptz))::float8
         as seconds
       from flow_events e join flows f on f.uuid = e.flow_uuid join nodes n on n.uuid = f.node_uuid
       where e.conductor = 'second' and n.name = any($1) and e.at > $2::timestamptz`,
      [held, struckAt],
    );
    const doubled = pair.machines.filter(
      (machine) => machine.boots() !== 2 || machine.disk.join() !== deployedDisk.join(),
    );
    return { seconds: rows[0]?.seconds ?? null, doubles: doubled.length };
  } finally {
    await pair.close();
  }
}

async function databaseTime({ database }: ConductorPair): Promise<string> {
  const { rows } = await database.query<{ now: string }>('select clock_timestamp()::text as now');
  return rows[0]?.now ?? '';
}
