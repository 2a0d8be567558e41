import { type Area, percentile, round } from '#test/bench/area.ts';
import { startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { prepareConductor } from '#test/support/conductor.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator } from '#test/support/operator.ts';

const stepsPerDeploy = 30;
const deploys = 4;

/**
 * From the end of one in-band step to the start of the next, as the agent sees it: heartbeat, the conductor's look at
 * the command list, its log, the next command; HTTPS between processes, its private server on disk. The first deploy warms up.
 */
export const stepArea: Area = {
  name: 'step',
  measure: async ({ say }) => {
    const conductor = await prepareConductor({ BATON_LOG_LEVEL: 'warn' });
    const deploySteps = Object.fromEntries(Array.from({ length: stepsPerDeploy }, (_, index) => [`hop_${index}`, 90]));
    const machine = await startSimulatedNode({
      conductorUrl: () => conductor.url,
      mac: '52:54:00:00:02:01',
      deploySteps,
    });
    try {
      await conductor.start();
      const operator = createOperator(conductor.url);
      const name = await enrolSimulatedNode(operator, machine, 'hopper');
      for (let deploy = 0; deploy < deploys; deploy += 1) {
        say(`deploy ${deploy + 1} of ${deploys} with ${stepsPerDeploy} in-band steps`);
        await operator.provision(name, deploy === 0 ? 'active' : 'rebuild');
        await operator.waitForState(name, 'active', 60_000);
      }
      const perDeploy = stepsPerDeploy + 1;
      const hops = machine.stepTimes.slice(perDeploy).flatMap((step, index, all) => {
        const next = all[index + 1];
        return next === undefined || (index + 1) % perDeploy === 0 ? [] : [next.startedAt - step.endedAt];
      });
      return {
        hop_ms_p50: { value: round(percentile(hops, 0.5)), unit: 'ms' },
        hop_ms_p99: { value: round(percentile(hops, 0.99)), unit: 'ms' },
      };
    } finally {
      await machine.close();
      await conductor.close();
    }
  },
};
