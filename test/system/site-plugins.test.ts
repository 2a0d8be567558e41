import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { FlowStepView } from '#conductor/api/flows.ts';
import { requestProvision } from '#conductor/flows/request/request-provision.ts';
import { stepTitle } from '#conductor/model/flows/planned-step.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { readPluginSteps } from '#conductor/sites/plugins/plugin-steps.ts';
import { silentLog } from '#shared/log.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { demoInstance, enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { createSiteOperator } from '#test/support/site-operator.ts';

/** Plugins' tasks in the deploys of simulated nodes: the real conductor and agent, steps that act on pretended disks. */

const tasks = `
- {role: '*', stage: post_deployment/100, type: shell, parameters: {cmd: ./mark, timeout: 60}}
- {role: '*', stage: pre_deployment, type: shell, parameters: {cmd: ./facts, timeout: 60}}
- {role: '*', stage: pre_deployment/-1, type: step, parameters: {interface: deploy, step: polish}}
- {role: control, stage: pre_deployment/1, type: shell, parameters: {cmd: never, timeout: 60}}
`;
const other = `
- {role: [worker], stage: post_deployment/50, type: shell, parameters: {cmd: ./b, timeout: 60}}
- {role: [worker], stage: post_deployment/60, type: reboot, parameters: {timeout: 60}}
`;
const plugins = [
  { name: 'alpha', version: '1.0' },
  { name: 'beta', version: '2.0' },
];

let conductor: ConductorInProcess;
let operator: Operator;
let machine: SimulatedNode;
let count = 0;
let name = '';

beforeAll(async () => {
  conductor = await startConductorInProcess({ log: silentLog });
  operator = createOperator(conductor.url);
  const site = createSiteOperator(conductor.url);
  const content = Buffer.from('#!/bin/sh\n').toString('base64');
  const files = { mark: { content, executable: true }, 'lib/facts': { content } };
  await site.call('POST', '/plugins', { name: 'alpha', version: '1.0', tasks, files });
  await site.call('POST', '/plugins', { name: 'beta', version: '2.0', tasks: other });
});
afterAll(() => conductor.close());
beforeEach(async () => {
  count += 1;
  machine = await startSimulatedNode({
    conductorUrl: () => conductor.url,
    mac: `52:54:00:05:d0:${count.toString(16).padStart(2, '0')}`,
    runsPluginTasks: count !== 3,
    deploySteps: { prepare_disks: 90, tune_image: 41, polish: 0 },
  });
  name = await enrolSimulatedNode(operator, machine, `plugged-${count}`);
  conductor.atCheckpoints(() => 'go on');
  return () => machine.close();
});

async function deploy(): Promise<void> {
  const context = conductor.context();
  await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/instance_info', value: demoInstance }]);
  await requestProvision(context, await getNode(context.db, name), {
    verb: 'active',
    steps: await readPluginSteps(context.db, plugins, ['worker']),
    caller: { user: 'alice', project: undefined, via: undefined },
  });
}
const steps = async (): Promise<FlowStepView[]> =>
  (await operator.call('GET', `/v1/nodes/${name}/flow`))['steps'] as FlowStepView[];

const titles = [
  'deploy.deploy',
  'deploy.prepare_disks',
  'plugin alpha: task 3 (pre_deployment/-1)',
  'plugin alpha: task 2 (pre_deployment)',
  'deploy.write_image',
  'deploy.prepare_instance_boot',
  'deploy.tune_image',
  'plugin beta: task 1 (post_deployment/50)',
  'plugin beta: task 2 (post_deployment/60)',
  'plugin alpha: task 1 (post_deployment/100)',
  'deploy.tear_down_agent',
  'deploy.switch_to_tenant_network',
  'deploy.boot_instance',
];
const files = 'mark, lib/facts';
const done = [
  'prepare_disks',
  'polish',
  `alpha 2 pre_deployment: ./facts with ${files}`,
  'write_image demo.raw',
  'tune_image',
  'beta 1 post_deployment/50: ./b with nothing',
  `alpha 1 post_deployment/100: ./mark with ${files}`,
];

test('tasks run in their order, at their places, with their files, under their plugins’ names', async () => {
  await deploy();
  await operator.waitForState(name, 'active');
  expect((await steps()).map(stepTitle)).toEqual(titles);
  expect(machine.disk).toEqual(done);
  const [, , , task] = await steps();
  expect(task).toMatchObject({
    origin: 'plugin',
    state: 'succeeded',
    reason: expect.stringContaining('postfix') as unknown,
    plugin: { plugin: 'alpha', version: '1.0', task: 2, place: 'pre_deployment' },
  });
  // the reboot amid the post tasks took the disk's place as boot device
  expect(machine.state()).toEqual({ power: 'on', runs: 'instance' });
  expect(machine.boots()).toBe(3);
  const metrics = await (await fetch(`${conductor.url}/metrics`)).text();
  expect(metrics).toContain('step="plugin alpha: task 1 (post_deployment/100)"');
});

test('a conductor that dies at any point leaves each task done once', async () => {
  let struck = 0;
  conductor.atCheckpoints((_, passed) => {
    if (passed % 7 !== 0 || struck > 6) return 'go on';
    struck += 1;
    return 'die';
  });
  await deploy();
  await operator.waitForState(name, 'active');
  expect(conductor.deaths()).toBeGreaterThan(3);
  expect((await steps()).map(stepTitle)).toEqual(titles);
  expect(machine.disk).toEqual(done);
});

test('a ramdisk that lacks the step fails the deploy before anything is touched', async () => {
  await deploy();
  const failed = await operator.waitForState(name, 'deploy failed');
  expect(failed['last_error']).toContain(
    "plugin alpha: task 2 (pre_deployment): this node's ramdisk can't run plugins' tasks, its agent has no step deploy.run_plugin_task",
  );
  expect(machine.disk).toEqual([]);
});

test('a task that fails is named with its plugin', async () => {
  machine.faults.failStep = { step: 'run_plugin_task', message: 'no driver' };
  await deploy();
  const failed = await operator.waitForState(name, 'deploy failed');
  expect(failed['last_error']).toContain('deploy step plugin alpha: task 2 (pre_deployment) failed: ');
  expect(failed['last_error']).toContain('no driver');
  expect(machine.disk).toEqual(done.slice(0, 2));
});
