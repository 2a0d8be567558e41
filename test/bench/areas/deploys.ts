import { type Area, type BenchContext, type Figure, percentile, round } from '#test/bench/area.ts';
import { cpuSeconds, residentMegabytes } from '#test/bench/process-figures.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { startPostgresql } from '#test/support/postgresql.ts';

const nodes = 500;
const stepsPerDeploy = 12;
const enrolAtOnce = 25;

/**
 * Many deploys at once through the full protocol: Redfish, lookup, heartbeats, HTTPS to each agent, PostgreSQL. The
 * machines and their agents live in this process and share the two cores with the conductor.
 */
export const deploysArea: Area = {
  name: 'deploys',
  measure: async (context) => {
    const database = await startPostgresql({ durable: true });
    const conductor = await prepareConductor({ DATABASE_URL: database.url, BATON_LOG_LEVEL: 'warn' });
    const machines: SimulatedNode[] = [];
    try {
      await conductor.start();
      return await measureDeploys(context, conductor, machines);
    } finally {
      await Promise.all(machines.map((machine) => machine.close()));
      await conductor.close();
      await database.close();
    }
  },
};

async function measureDeploys(
  { say }: BenchContext,
  conductor: ConductorProcess,
  machines: SimulatedNode[],
): Promise<Record<string, Figure>> {
  const operator = createOperator(conductor.url);
  say(`enrolling ${nodes} simulated nodes`);
  await inTurns(nodes, async (index) => {
    const machine = await startSimulatedNode({
      conductorUrl: () => conductor.url,
      mac: macOf(index),
      stepMs: 0,
      // write_image is the twelfth
      deploySteps: Object.fromEntries(Array.from({ length: stepsPerDeploy - 1 }, (_, step) => [`hop_${step}`, 90])),
    });
    machines.push(machine);
    await enrolSimulatedNode(operator, machine, `bench-${index}`);
  });
  say(`deploying them, ${stepsPerDeploy} in-band steps each`);
  const cpuBefore = await cpuSeconds(conductor.pid());
  const startedAt = performance.now();
  await inTurns(nodes, (index) => operator.provision(`bench-${index}`, 'active'));
  await allActive(operator);
  const wall = (performance.now() - startedAt) / 1000;
  const hops = machines.flatMap((machine) =>
    machine.stepTimes.slice(1).map((step, index) => step.startedAt - (machine.stepTimes[index]?.endedAt ?? Number.NaN)),
  );
  return {
    wall_s: { value: round(wall), unit: 's' },
    hop_ms_p50: { value: round(percentile(hops, 0.5)), unit: 'ms' },
    hop_ms_p99: { value: round(percentile(hops, 0.99)), unit: 'ms' },
    cpu_s: { value: round((await cpuSeconds(conductor.pid())) - cpuBefore), unit: 's' },
    rss_mb: { value: await residentMegabytes(conductor.pid(), 'VmHWM'), unit: 'MB' },
  };
}

/** @throws Error with its last_error as soon as one has failed */
async function allActive(operator: Operator): Promise<void> {
  await waitUntil(
    'all nodes to be active',
    async () => {
      const answer = await operator.call('GET', '/v1/nodes?fields=name,provision_state,last_error&limit=1000');
      const list = answer['nodes'] as { name: string; provision_state: string; last_error: string | null }[];
      const failed = list.find((node) => node.provision_state === 'deploy failed');
      if (failed) throw new Error(`${failed.name} failed: ${failed.last_error}`);
      return list.every((node) => node.provision_state === 'active') || undefined;
    },
    { timeoutMs: 600_000, everyMs: 500 },
  );
}

async function inTurns(count: number, act: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      await act(next - 1);
    }
  };
  await Promise.all(Array.from({ length: enrolAtOnce }, worker));
}

function macOf(index: number): string {
  const hex = index.toString(16).padStart(4, '0');
  return `52:54:00:01:${hex.slice(0, 2)}:${hex.slice(2)}`;
}
