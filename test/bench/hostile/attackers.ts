import { systemClock } from '#shared/clock.ts';
import { createHostileAgents, hostileAgentBehaviours } from '#test/simulators/hostile-agent.ts';
import { startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, isAtRest } from '#test/support/operator.ts';

/**
 * `attackers.ts URL COUNT`: machines with hostile agents that are deployed again and again until SIGTERM, in a process of
 * their own: what they cost delays nobody who measures. Prints `ready` once all are enrolled, and at the end how many
 * deploys there were.
 */

const [url = '', count = '0'] = process.argv.slice(2);
const operator = createOperator(url, { retries: 5 });
const ending = new AbortController();
process.once('SIGTERM', () => ending.abort());

/** Every second one the worst that is allowed, the others each of what is not. */
const behaviours = Array.from({ length: Number(count) }, (_, index) => {
  const others = hostileAgentBehaviours.slice(1);
  return (index % 2 === 0 ? hostileAgentBehaviours[0] : others[((index - 1) / 2) % others.length]) ?? 'says nothing';
});
const hostileAgent = createHostileAgents();
const machines = await Promise.all(
  behaviours.map((behaviour, index) =>
    startSimulatedNode({
      conductorUrl: () => url,
      mac: `52:54:00:66:00:${index.toString(16).padStart(2, '0')}`,
      plainHttp: true,
      startProxy: hostileAgent(behaviour),
    }),
  ),
);
const names = machines.map((_, index) => `hostile-${index}`);
for (const [index, machine] of machines.entries()) await enrolSimulatedNode(operator, machine, names[index] ?? '');
process.stdout.write('ready\n');

let deploys = 0;
await Promise.all(
  names.map(async (name) => {
    while (!ending.signal.aborted) {
      if (isAtRest(await operator.node(name))) {
        await operator.provision(name, 'active');
        deploys += 1;
      }
      await systemClock.sleep(200, ending.signal).catch(() => undefined);
    }
  }),
);
process.stdout.write(`${deploys}\n`);
await Promise.all(machines.map((machine) => machine.close()));
