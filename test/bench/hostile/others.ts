import { systemClock } from '#shared/clock.ts';
import { createHostileAgents, hostileAgentBehaviours } from '#test/simulators/hostile-agent.ts';
import { startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, isAtRest } from '#test/support/operator.ts';

/**
 * `others.ts URL COUNT hostile|honest`: machines with such agents that are deployed again and again until SIGTERM, each
 * every ten seconds where its deploys end sooner, in a process of their own: what they cost delays nobody who measures.
 * Prints `ready` once all are enrolled, and at the end how many deploys there were.
 */

const [url = '', count = '0', kind = ''] = process.argv.slice(2);
const everyMs = 10_000;
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
      mac: `52:54:00:${kind === 'hostile' ? 66 : 67}:00:${index.toString(16).padStart(2, '0')}`,
      plainHttp: true,
      stepMs: 0,
      ...(kind === 'hostile' ? { startProxy: hostileAgent(behaviour) } : {}),
    }),
  ),
);
const names = machines.map((_, index) => `${kind}-${index}`);
for (const [index, machine] of machines.entries()) await enrolSimulatedNode(operator, machine, names[index] ?? '');
process.stdout.write('ready\n');

let deploys = 0;
await Promise.all(
  names.map(async (name, index) => {
    const pause = (ms: number): Promise<void> => systemClock.sleep(ms, ending.signal).catch(() => undefined);
    await pause((everyMs * index) / names.length);
    while (!ending.signal.aborted) {
      const node = await operator.node(name);
      if (isAtRest(node)) {
        await operator.provision(name, node['provision_state'] === 'active' ? 'rebuild' : 'active');
        deploys += 1;
      }
      await pause(everyMs);
    }
  }),
);
process.stdout.write(`${deploys}\n`);
await Promise.all(machines.map((machine) => machine.close()));
