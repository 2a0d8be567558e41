import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest';
import { residentMegabytes } from '#test/bench/process-figures.ts';
import { createHostileAgents, type HostileAgentBehaviour } from '#test/simulators/hostile-agent.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** Machines whose agents mean harm, and others: `npm run bench -- hostile` measures what these notice of it. */

const worst = 'answers the worst that is allowed';
const behaviours: readonly HostileAgentBehaviour[] = [
  worst,
  worst,
  worst,
  worst,
  'answers a body without end',
  'answers headers without end',
  'answers JSON without end',
  'answers deep JSON',
  'announces a negative length',
  'answers half',
];
const honest = ['honest-0', 'honest-1', 'honest-2'];
/** Two answers of 96 MiB are read and parsed at once, and some garbage is left of them. */
const conductorMegabytes = 1500;
const patienceMs = 240_000;

let conductor: ConductorProcess;
let operator: Operator;
const machines: SimulatedNode[] = [];
beforeAll(async () => {
  conductor = await prepareConductor({ BATON_REQUIRE_AGENT_TLS: 'false' });
  await conductor.start();
  operator = createOperator(conductor.url, { retries: 20 });
});
afterAll(async () => {
  await Promise.all(machines.map((machine) => machine.close()));
  await conductor.close();
});

async function enrol(name: string, more: Partial<Parameters<typeof startSimulatedNode>[0]>): Promise<void> {
  const mac = `52:54:00:66:01:${machines.length.toString(16).padStart(2, '0')}`;
  const machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac, ...more });
  machines.push(machine);
  await enrolSimulatedNode(operator, machine, name);
}

/** Why the deploy has failed, or what it waits for. */
async function reasonOf(name: string): Promise<string> {
  const { last_error: error, provision_state: state } = await operator.node(name);
  if (state === 'deploy failed') return String(error);
  const { steps } = await operator.call('GET', `/v1/nodes/${name}/flow`);
  const step = (steps as { state: string; waiting_for: string | null }[]).find((each) => each.state === 'waiting');
  return (state === 'wait call-back' && step?.waiting_for) || '';
}

test('deploys by hostile agents say what is wrong, and hurt nobody else’s', async () => {
  onTestFailed(() => {
    process.stderr.write(conductor.log().slice(-60_000));
  });
  const hostileAgent = createHostileAgents();
  const hostile = behaviours.map((behaviour, index) => ({ behaviour, name: `hostile-${index}` }));
  for (const { behaviour, name } of hostile) {
    await enrol(name, { plainHttp: true, startProxy: hostileAgent(behaviour) });
  }
  for (const name of honest) await enrol(name, {});
  for (const { name } of hostile) await operator.provision(name, 'active');
  for (const name of honest) await operator.provision(name, 'active');

  for (const name of honest) await operator.waitForState(name, 'active', patienceMs);
  // a flow whose agent heartbeats and can't be asked waits, until the operator ends it
  for (const { name } of hostile) {
    await expect.poll(() => reasonOf(name), { timeout: patienceMs }).toMatch(/agent/);
    expect((await reasonOf(name)).length).toBeLessThan(2000);
    await operator.provision(name, 'deleted');
    await operator.waitForState(name, 'available', patienceMs);
  }
  expect(await residentMegabytes(conductor.pid(), 'VmHWM')).toBeLessThan(conductorMegabytes);
  // their machines, and the memory, can be used again
  expect(machines.slice(0, hostile.length).map((machine) => machine.state().power)).toEqual(hostile.map(() => 'off'));
});
