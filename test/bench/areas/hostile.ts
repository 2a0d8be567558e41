import { moveNodes } from '#test/bench/api/nodes.ts';
import { type MeasuredServer, startServer } from '#test/bench/api/server.ts';
import { type Area, type BenchContext, type Figure, percentile, round } from '#test/bench/area.ts';
import { type BenchProgram, startProgram } from '#test/bench/hostile/program.ts';
import { loadAverage, residentMegabytes } from '#test/bench/process-figures.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { isAtRest } from '#test/support/operator.ts';

const neighbours = 50;
const strangers = 1000;
/** Number of honest machines, in each of the rounds. */
const machinesPerRound = 20;
const hops = 11;

/**
 * Area of what honest machines notice of hostile ones: deploys and `/healthz` while fifty agents answer the worst they
 * can, and inspections while a thousand strangers drip reports. The baseline, in the same run, is the same beside fifty
 * honest machines that are deployed as often: what hostile ones cost more than these.
 */
export const hostileArea: Area = {
  name: 'hostile',
  measure: async (context) => {
    const server = await startServer('pg', context.say, { BATON_REQUIRE_AGENT_TLS: 'false' });
    const machines: SimulatedNode[] = [];
    const programs: BenchProgram[] = [];
    try {
      return await measureHostile(context, { server, machines, programs });
    } finally {
      await Promise.all(programs.map((program) => program.end()));
      await Promise.all(machines.map((machine) => machine.close()));
      await server.close();
    }
  },
};

interface World {
  readonly server: MeasuredServer;
  readonly machines: SimulatedNode[];
  /** Programs that run. */
  readonly programs: BenchProgram[];
}

async function measureHostile({ say }: BenchContext, world: World): Promise<Record<string, Figure>> {
  const { conductor } = world.server;
  const rounds = [];
  for (const round of ['warm-up', 'alone', 'beside-honest', 'attacked', 'inspected'])
    rounds.push(await enrolRound(world, round));
  const [warmUp = [], alone = [], besideHonest = [], attacked = [], inspected = []] = rounds;
  await deployAll(world, warmUp);
  const quiet = await watched(world, () => deployAll(world, alone));
  say(`deployed ${machinesPerRound} machines alone in ${round(quiet.seconds)} s; load ${await loadAverage()}`);

  const beside = async (kind: 'honest' | 'hostile', names: readonly string[]) => {
    const [seen, printed] = await besieged(world, ['others.ts', neighbours, kind], () =>
      watched(world, () => deployAll(world, names)),
    );
    const deploys = printed.trim().split('\n').at(-1);
    say(`the same in ${round(seen.seconds)} s beside ${deploys} ${kind} deploys; load ${await loadAverage()}`);
    return seen;
  };
  const calm = await beside('honest', besideHonest);
  const storm = await beside('hostile', attacked);

  const [refused] = await besieged(world, ['strangers.ts', strangers], () => inspectAll(world, inspected));
  return {
    healthz_ms_p99: { value: storm.healthMs, unit: 'ms', baseline: calm.healthMs },
    deploys_ratio_alone: { value: round(storm.seconds / quiet.seconds, 2), unit: '×' },
    deploys_ratio: { value: round(storm.seconds / calm.seconds, 2), unit: '×' },
    inspections_refused: { value: refused, unit: `of ${machinesPerRound}` },
    rss_mb: { value: await residentMegabytes(conductor.pid(), 'VmHWM'), unit: 'MB' },
  };
}

/** Names of machines that are enrolled and `available`. */
async function enrolRound({ server, machines }: World, round: string): Promise<readonly string[]> {
  const names = Array.from({ length: machinesPerRound }, (_, index) => `${round}-${index}`);
  for (const name of names) {
    const index = machines.length;
    const machine = await startSimulatedNode({
      conductorUrl: () => server.conductor.url,
      mac: `52:54:00:01:00:${index.toString(16).padStart(2, '0')}`,
      stepMs: 0,
      deploySteps: Object.fromEntries(Array.from({ length: hops }, (_, step) => [`hop_${step}`, 90])),
      inspects: true,
      // a report of a large machine: strangers' small ones are read whatever else comes
      moreDisks: Array.from({ length: 500 }, (_, disk) => ({ name: `/dev/sd${disk}`, serial: `${index}-${disk}` })),
    });
    machines.push(machine);
    await enrolSimulatedNode(server.operator, machine, name);
  }
  return names;
}

/** Seconds that it took, and the p99 of `/healthz` meanwhile, asked from another process. */
async function watched(
  { server, programs }: World,
  act: () => Promise<void>,
): Promise<{ readonly seconds: number; readonly healthMs: number }> {
  const watch = startProgram('watch-health.ts', [server.conductor.url]);
  programs.push(watch);
  await watch.ready();
  const since = performance.now();
  await act();
  const seconds = (performance.now() - since) / 1000;
  programs.splice(programs.indexOf(watch), 1);
  const latenciesMs = (await watch.end()).trim().split('\n').slice(1).map(Number);
  return { seconds, healthMs: round(percentile(latenciesMs, 0.99)) };
}

/** Gives what comes of it while that program runs, and what the program printed. */
async function besieged<T>(
  { server, programs }: World,
  [name, count, ...args]: readonly [string, number, ...string[]],
  act: () => Promise<T>,
): Promise<readonly [T, string]> {
  const program = startProgram(name, [server.conductor.url, String(count), ...args]);
  programs.push(program);
  await program.ready();
  const result = await act();
  programs.splice(programs.indexOf(program), 1);
  return [result, await program.end()];
}

/** @throws Error when one of them does not end as it should: what hostile machines do must not make others fail */
async function deployAll({ server }: World, names: readonly string[]): Promise<void> {
  await moveNodes(server, names, { verb: 'active', to: 'active' });
}

/** How many of them could not be inspected. */
async function inspectAll({ server }: World, names: readonly string[]): Promise<number> {
  const { operator } = server;
  await moveNodes(server, names, { verb: 'manage', to: 'manageable' });
  await Promise.all(names.map((name) => operator.provision(name, 'inspect')));
  const states = await Promise.all(
    names.map((name) =>
      waitUntil(
        `${name} to be inspected`,
        async () => {
          const node = await operator.node(name);
          return isAtRest(node) ? String(node['provision_state']) : undefined;
        },
        { timeoutMs: 600_000, everyMs: 500 },
      ),
    ),
  );
  return states.filter((state) => state !== 'manageable').length;
}
