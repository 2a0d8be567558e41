import { createInterface } from 'node:readline';
import { startSimulatedSite } from '#test/support/simulated-site.ts';

/**
 * `machines.ts FROM TO GROUPS URL…`: simulated machines `fleet-FROM` to `fleet-<TO - 1>` with the real agent, in a process of
 * their own, shared out to the conductors at these URLs. Prints documents and machines as one line of JSON; then, for each
 * line that it reads, `kill N` (every N-th BMC is dead from now on), `mark` or `asked` (BMCs that live and have been asked since then), one line.
 */

const [from = '0', to = '0', groups = '1', ...urls] = process.argv.slice(2);
const first = Number(from);
const members = Array.from({ length: Number(to) - first }, (_, index) => ({
  name: `fleet-${String(first + index).padStart(5, '0')}`,
  rack: `rack${(first + index) % Number(groups)}`,
  tags: ['worker'],
}));
let asked = 0;
const nextUrl = (): string => urls[asked++ % urls.length] ?? '';
const site = await startSimulatedSite(members, { conductorUrl: nextUrl, firstMac: first, stepMs: 0, deploySteps: {} });
const machines = [...site.machines].map(([name, { mac, bmc }]) => ({ name, mac, address: bmc.address }));
const print = (answer: unknown): void => void process.stdout.write(`${JSON.stringify(answer)}\n`);

const marks = new Map<string, number>();
const living = new Map(site.machines);

const orders: Readonly<Record<string, (argument: string) => unknown>> = {
  kill: (every) => {
    const dead = members.filter((_, index) => (first + index + 1) % Number(every) === 0);
    for (const { name } of dead) {
      site.machines.get(name)?.bmc.freeze();
      living.delete(name);
    }
    return dead.length;
  },
  mark: () => {
    for (const [name, { bmc }] of living) marks.set(name, bmc.counters.requests);
    return living.size;
  },
  asked: () => [...living].filter(([name, { bmc }]) => bmc.counters.requests > (marks.get(name) ?? 0)).length,
};
print({ documents: site.documents, machines });
const lines = createInterface(process.stdin);
lines.on('line', (line) => {
  const [order = '', argument = ''] = line.split(' ');
  print(orders[order]?.(argument) ?? null);
});
process.once('SIGTERM', () => {
  lines.close();
  void site.close().finally(() => process.exit(0));
});
