import { afterAll, beforeAll, expect, onTestFailed, test } from 'vitest';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { demoInstance, enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/**
 * SIGKILL at each checkpoint of a deploy (after each event of its log, and between acting and recording, when the step
 * has to run twice), and the conductor started again: the same active node.
 */

let conductor: ConductorProcess;
let operator: Operator;
let machine: SimulatedNode;
const name = 'survivor';

beforeAll(async () => {
  conductor = await prepareConductor();
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac: '52:54:00:00:01:01' });
  await conductor.start();
  operator = createOperator(conductor.url);
  await enrolSimulatedNode(operator, machine, name);
  await conductor.kill('SIGTERM');
});
afterAll(async () => {
  await machine.close();
  await conductor.close();
});

test('a deploy survives SIGKILL at every checkpoint', async () => {
  onTestFailed(() => {
    process.stderr.write(conductor.log().slice(-6000));
  });
  let killed = 0;
  await conductor.start({ CRASH_AT_CHECKPOINT: 'SIGUSR2+1' });
  for (let checkpoint = 1; ; checkpoint += 1) {
    const before = machine.disk.length;
    await conductor.armCrash();
    await operator.provision(name, 'active', { configdrive: { meta_data: { hostname: 'survivor' } } });
    const survived = await Promise.race([
      conductor.exited().then(() => false),
      operator.waitForState(name, 'active').then(() => true),
    ]);
    if (!survived) {
      killed += 1;
      await conductor.start({ CRASH_AT_CHECKPOINT: `SIGUSR2+${checkpoint + 1}` });
    }
    await operator.waitForState(name, 'active');
    expect(machine.state(), `killed at checkpoint ${checkpoint}`).toEqual({ power: 'on', runs: 'instance' });
    // each in-band step has run, and the last of each kind in the right order
    expect([...new Set(machine.disk.slice(before))], `killed at checkpoint ${checkpoint}`).toEqual([
      'prepare_disks',
      'write_image demo.raw with config drive',
      'tune_image',
    ]);
    if (survived) break;
    // by the conductor that came after: it counts the checkpoints of the next deploy alone
    await operator.provision(name, 'deleted');
    await operator.waitForState(name, 'available');
    await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/instance_info', value: demoInstance }]);
  }
  // eight steps: started, acted, ended; four of them wait in between
  expect(killed).toBeGreaterThanOrEqual(28);
});
