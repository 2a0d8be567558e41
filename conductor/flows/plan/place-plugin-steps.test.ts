import { describe, expect, test } from 'vitest';
import { planDestroys } from '#conductor/flows/plan/plan-destroys.ts';
import { planSteps } from '#conductor/flows/plan/plan-steps.ts';
import { planHash } from '#conductor/flows/plan/read-plan.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import { type RequestedStep, stepTitle } from '#conductor/model/flows/planned-step.ts';
import { parseTasks } from '#conductor/sites/plugins/parse-tasks.ts';
import { pluginSteps } from '#conductor/sites/plugins/plugin-steps.ts';
import { AdvertisedStep } from '#shared/wire/step.ts';

const runsTasks = AdvertisedStep.parse({
  interface: 'deploy',
  step: 'run_plugin_task',
  priority: 0,
  argsinfo: Object.fromEntries(
    ['plugin', 'version', 'task', 'stage', 'cmd', 'timeout', 'cwd', 'env', 'node_name', 'plugin_files'].map((name) => [
      name,
      { description: name, required: false },
    ]),
  ),
});
const advertise = (step: string, priority: number, more: Record<string, unknown> = {}) =>
  AdvertisedStep.parse({ interface: 'deploy', step, priority, ...more });

/** Each a line of `stage command`, or a whole task as YAML flow. */
function steps(name: string, ...tasks: readonly string[]): RequestedStep[] {
  const text = tasks
    .map((line) => {
      const [stage, cmd] = line.split(' ');
      return line.startsWith('{')
        ? `- ${line}\n`
        : `- {role: '*', stage: ${stage}, type: shell, parameters: {cmd: ${cmd}, timeout: 60}}\n`;
    })
    .join('');
  const parsed = parseTasks(text, name);
  expect(parsed.faults).toEqual([]);
  return pluginSteps([{ name, version: '1.0', tasks: parsed.tasks }], []);
}
const plan = (requested: readonly RequestedStep[], advertised: readonly AdvertisedStep[] = [runsTasks]) =>
  planSteps(flowKinds.deploy, { advertised, requested });
const titles = (...args: Parameters<typeof plan>): string[] => plan(...args).map(stepTitle);

test('pre tasks stand right before the image, post tasks right before the end of the agent, whatever the postfix', () => {
  const advertised = [
    runsTasks,
    advertise('early', 99),
    advertise('between', 81),
    advertise('mid', 70),
    advertise('late', 41),
  ];
  const requested = steps(
    'ntp',
    'post_deployment/-9000 a',
    'pre_deployment/9000 b',
    'pre_deployment c',
    'post_deployment d',
  );
  expect(titles(requested, advertised)).toEqual([
    'deploy.deploy',
    'deploy.early',
    'deploy.between',
    'plugin ntp: task 3 (pre_deployment)',
    'plugin ntp: task 2 (pre_deployment/9000)',
    'deploy.write_image',
    'deploy.mid',
    'deploy.prepare_instance_boot',
    'deploy.late',
    'plugin ntp: task 1 (post_deployment/-9000)',
    'plugin ntp: task 4 (post_deployment)',
    'deploy.tear_down_agent',
    'deploy.switch_to_tenant_network',
    'deploy.boot_instance',
  ]);
});

test('they follow the image to where the request puts it', () => {
  const image = { interface: 'deploy', step: 'write_image', args: {}, priority: 95 };
  const found = titles([...steps('ntp', 'pre_deployment a'), image], [runsTasks, advertise('late', 81)]);
  expect(found.slice(0, 4)).toEqual([
    'deploy.deploy',
    'plugin ntp: task 1 (pre_deployment)',
    'deploy.write_image',
    'deploy.late',
  ]);
});

test('a task carries who it is, why it stands there, and what it does', () => {
  const [, step] = plan(steps('ntp', 'pre_deployment/5 ./a'));
  expect(step).toMatchObject({
    interface: 'deploy',
    step: 'run_plugin_task',
    origin: 'plugin',
    inBand: true,
    priority: 80,
    plugin: { plugin: 'ntp', version: '1.0', task: 1, stage: 'pre_deployment', place: 'pre_deployment/5' },
    args: { plugin: 'ntp', version: '1.0', task: 1, stage: 'pre_deployment/5', cmd: './a', timeout: 60 },
    reason: 'first of pre_deployment, with postfix 5; in the ramdisk, right before the image is written',
  });
  expect(plan(steps('ntp', 'post_deployment ./a')).at(-4)).toMatchObject({ priority: 41, origin: 'plugin' });
});

test("an agent's step, and a reboot, as often as they are asked for", () => {
  const erase =
    "{role: '*', stage: pre_deployment, type: step, parameters: {interface: deploy, step: wipe, timeout: 9}}";
  const reboot = "{role: '*', stage: post_deployment, type: reboot, parameters: {timeout: 600}}";
  const found = plan(steps('ntp', erase, erase, reboot, reboot), [
    runsTasks,
    advertise('wipe', 0, { reboot_requested: true, abortable: false }),
  ]);
  expect(found.map(stepTitle)).toEqual([
    'deploy.deploy',
    'plugin ntp: task 1 (pre_deployment)',
    'deploy.reboot_ramdisk',
    'plugin ntp: task 2 (pre_deployment)',
    'deploy.reboot_ramdisk',
    'deploy.write_image',
    'deploy.prepare_instance_boot',
    'plugin ntp: task 3 (post_deployment)',
    'plugin ntp: task 4 (post_deployment)',
    'deploy.tear_down_agent',
    'deploy.switch_to_tenant_network',
    'deploy.boot_instance',
  ]);
  expect(found[1]).toMatchObject({ step: 'wipe', inBand: true, abortable: false, plugin: { timeout: 9 } });
  expect(found[7]).toMatchObject({ step: 'reboot_ramdisk', inBand: false, plugin: { timeout: 600 } });
});

describe('refused, with plugin and task', () => {
  const step = (name: string, on = 'deploy'): RequestedStep[] =>
    steps(
      'ntp',
      `{role: '*', stage: pre_deployment, type: step, parameters: {interface: ${on}, step: ${name}, args: {a: 1}}}`,
    );

  test('what the agent that runs there does not have; the list of an earlier boot says nothing', () => {
    const task = steps('ntp', 'pre_deployment a');
    expect(() => plan(task, [advertise('other', 0)])).toThrow(
      "plugin ntp: task 1 (pre_deployment): this node's ramdisk can't run plugins' tasks, its agent has no step deploy.run_plugin_task (it has deploy.other)",
    );
    expect(() => plan(step('wipe'))).toThrow(
      'plugin ntp: task 1 (pre_deployment): no step deploy.wipe: the agent does not',
    );
    expect(planSteps(flowKinds.deploy, { advertised: [], isStale: true, requested: task })).toHaveLength(7);
    expect(planSteps(flowKinds.deploy, { requested: task })).toHaveLength(7);
  });

  test("arguments that the agent's step does not take", () => {
    expect(() => plan(step('wipe'), [advertise('wipe', 0)])).toThrow(
      'plugin ntp: task 1 (pre_deployment): deploy.wipe: unknown argument a; it takes none',
    );
  });

  test.each(['write_image', 'tear_down_agent', 'hold', 'deploy'])("the conductor's own %s", (name) => {
    expect(() => plan(step(name))).toThrow(
      `plugin ntp: task 1 (pre_deployment): deploy.${name} is the conductor's own step`,
    );
  });

  test('without an agent, and in another kind of flow', () => {
    const requested = steps('ntp', "{role: '*', stage: post_deployment, type: reboot, parameters: {timeout: 600}}");
    expect(() => planSteps(flowKinds.deploy, { requested, withoutAgent: 'the node boots from volume v' })).toThrow(
      'plugin ntp: task 1 (post_deployment): no agent runs there, for the node boots from volume v',
    );
    expect(() => planSteps(flowKinds.clean, { requested })).toThrow("plugins' tasks run in deploys only");
  });

  test('the step that runs tasks, when an operator asks for it', () => {
    const asked = { interface: 'deploy', step: 'run_plugin_task', args: { cmd: 'reboot' }, priority: 50 };
    expect(() => plan([asked])).toThrow("deploy_steps: deploy.run_plugin_task can't be asked for");
  });
});

test('the hash knows the tasks, and the warnings their plugins', () => {
  const hash = (...tasks: readonly string[]): string =>
    planHash(plan(steps('ntp', ...tasks)), {}, { digest: (text) => text });
  const one = hash('pre_deployment/1 a', 'pre_deployment/2 b');
  expect(hash('pre_deployment/1 a', 'pre_deployment/2 b')).toBe(one);
  expect(hash('pre_deployment/1 a', 'pre_deployment/2 c')).not.toBe(one);
  expect(hash('pre_deployment/3 a', 'pre_deployment/2 b')).not.toBe(one);
  const { warnings } = planDestroys(plan(steps('ntp', 'pre_deployment a', 'post_deployment b')), {
    disks: undefined,
    node: { properties: {}, instanceInfo: {}, targetRaidConfig: {} },
  });
  expect(warnings).toEqual(['What the scripts of plugins do to the disks is not known: ntp.']);
});
