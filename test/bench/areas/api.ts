import { allocateThroughDeath, measureAllocations } from '#test/bench/api/allocations.ts';
import { measureHeartbeats } from '#test/bench/api/heartbeats.ts';
import { createNodes, measureReading, measureVerb, moveNodes } from '#test/bench/api/nodes.ts';
import { type Engine, type MeasuredServer, startServer } from '#test/bench/api/server.ts';
import { type Area, type BenchContext, type Figure, round } from '#test/bench/area.ts';
import { residentMegabytes } from '#test/bench/process-figures.ts';
import { prepareConductor } from '#test/support/conductor.ts';
import { createOperator } from '#test/support/operator.ts';
import { startPostgresql } from '#test/support/postgresql.ts';

const fleet = 1000;
const largeFleet = 10_000;
const deployed = 200;
const deathRuns = 20;
const nodesInDeathRuns = 60;

/** The server as it ships, over loopback; client, conductor and PostgreSQL share the machine. */
export const apiArea: Area = {
  name: 'api',
  measure: async (context) => ({
    ...(await measureEngine(context, 'embedded')),
    ...(await measureEngine(context, 'pg')),
    ...(await measureDoubles(context)),
  }),
};

async function measureEngine(context: BenchContext, engine: Engine): Promise<Record<string, Figure>> {
  const server = await startServer(engine, context.say);
  try {
    const small = await measureFleet(context, server, { from: 0, to: fleet });
    const names = Array.from({ length: fleet }, (_, index) => `node-${index}`);
    const heartbeats = await measureHeartbeats(context, server);
    const verbs = {
      ...(await measureVerb(server, names, { figure: 'manage', verb: 'manage', to: 'manageable' })),
      ...(await measureVerb(server, names, { figure: 'provide', verb: 'provide', to: 'available' })),
    };
    const allocations = await measureAllocations(server);
    const some = names.slice(0, deployed);
    const deploys = {
      ...(await measureVerb(server, some, { figure: 'fake_deploys', verb: 'active', to: 'active' })),
      ...(await measureVerb(server, some, { figure: 'fake_undeploys', verb: 'deleted', to: 'available' })),
    };
    const work = { ...verbs, ...allocations, ...deploys };
    const large = await measureFleet(context, server, { from: fleet, to: largeFleet });
    return {
      ...named({ ...small, ...heartbeats, ...work }, `_${engine}`),
      ...named(large, `_10k_${engine}`),
    };
  } finally {
    await server.close();
  }
}

async function measureFleet(
  context: BenchContext,
  server: MeasuredServer,
  range: { readonly from: number; readonly to: number },
): Promise<Record<string, Figure>> {
  context.say(`${server.engine}: ${range.to} nodes`);
  const { perSecond } = await createNodes(server, range);
  return {
    create_per_s: { value: round(perSecond, 0), unit: '1/s' },
    ...(await measureReading(context, server, range.to)),
    rss_mb: { value: await residentMegabytes(server.conductor.pid(), 'VmHWM'), unit: 'MB' },
  };
}

function named(figures: Readonly<Record<string, Figure>>, suffix: string): Record<string, Figure> {
  return Object.fromEntries(Object.entries(figures).map(([name, figure]) => [`${name}${suffix}`, figure]));
}

/** Two conductors on one PostgreSQL, one of which is killed amid each run. */
async function measureDoubles({ say }: BenchContext): Promise<Record<string, Figure>> {
  const database = await startPostgresql({ durable: true });
  const prepare = (name: string) =>
    prepareConductor({
      DATABASE_URL: database.url,
      BATON_CONDUCTOR_NAME: name,
      BATON_LOG_LEVEL: 'warn',
      BATON_CONDUCTOR_HEARTBEAT_INTERVAL: '0.5',
      BATON_CONDUCTOR_TIMEOUT: '2',
      BATON_LEASE_SECONDS: '5',
    });
  const conductors = [await prepare('one'), await prepare('two')] as const;
  try {
    for (const conductor of conductors) await conductor.start();
    const servers = conductors.map((conductor) => ({ conductor, operator: createOperator(conductor.url) }));
    const [first] = servers;
    if (!first) throw new Error('no conductor');
    const names = Array.from({ length: nodesInDeathRuns }, (_, index) => `node-${index}`);
    await createNodes({ ...first, timed: (_, _count, act) => act() }, { from: 0, to: nodesInDeathRuns });
    await moveNodes(first, names, { verb: 'manage', to: 'manageable' });
    await moveNodes(first, names, { verb: 'provide', to: 'available' });
    let doubles = 0;
    let lost = 0;
    for (let index = 0; index < deathRuns; index += 1) {
      const victim = conductors[index % 2];
      const survivor = servers[(index + 1) % 2];
      if (!victim || !survivor) throw new Error('no conductor');
      const killAfter = 1 + Math.floor((index / deathRuns) * nodesInDeathRuns * 0.8);
      const damage = await allocateThroughDeath({ victim, survivor, count: nodesInDeathRuns - 10, killAfter });
      doubles += damage.doubles;
      lost += damage.lost;
      say(
        `run ${index + 1} of ${deathRuns}, killed after ${killAfter} answers: ${damage.doubles} doubles, ${damage.lost} lost`,
      );
    }
    return {
      allocation_doubles: { value: doubles, unit: 'nodes' },
      allocations_lost: { value: lost, unit: 'allocations' },
    };
  } finally {
    await Promise.all(conductors.map((conductor) => conductor.close()));
    await database.close();
  }
}
