import { describe, expect, test } from 'vitest';
import { describeFault, parseTasks } from '#conductor/sites/plugins/parse-tasks.ts';
import { cpuMs } from '#test/support/cpu-time.ts';

const faultsOf = (text: string): string[] => parseTasks(text, 'ntp').faults.map(describeFault);

test('seed 002, a task of a Fuel plugin', () => {
  const text = `
- role: ['primary-controller', 'controller']
  stage: post_deployment/100
  type: shell
  parameters:
    cmd: ./deploy.sh
    timeout: 42
`;
  expect(parseTasks(text, 'A')).toEqual({
    faults: [],
    tasks: [
      {
        type: 'shell',
        cmd: './deploy.sh',
        timeout: 42,
        roles: ['primary-controller', 'controller'],
        stage: { name: 'post_deployment', postfix: '100' },
        requires: [],
        requiredFor: [],
      },
    ],
  });
});

test('all that a task may have', () => {
  const text = `
- {id: first, role: '*', stage: pre_deployment, type: reboot, parameters: {timeout: 600}}
- role: control
  stage: pre_deployment/-1
  type: step
  requires: [first, hosts/written]
  required_for: [last.one]
  parameters: {interface: raid, step: apply_configuration, args: {raid_config: {}}, timeout: 60}
- id: last.one
  role: [a, '*']
  stage: pre_deployment/2
  type: shell
  parameters: {cmd: 'true', timeout: 1.5, cwd: lib, env: {LEVEL: 3, DEBUG: true, NAME: x}}
`;
  const { tasks, faults } = parseTasks(text, 'ntp');
  expect(faults).toEqual([]);
  expect(tasks).toMatchObject([
    { id: 'first', type: 'reboot', timeout: 600, roles: '*' },
    {
      type: 'step',
      interface: 'raid',
      step: 'apply_configuration',
      args: { raid_config: {} },
      timeout: 60,
      roles: ['control'],
      requires: ['ntp/first', 'hosts/written'],
      requiredFor: ['ntp/last.one'],
    },
    { id: 'last.one', roles: '*', cwd: 'lib', env: { LEVEL: '3', DEBUG: 'true', NAME: 'x' } },
  ]);
});

describe('what is wrong', () => {
  test('is told all at once, with task and field', () => {
    const text = `
- role: []
  stage: post_deployment/abc
  type: shell
  parameters: {cmd: '', timeout: -1, user: root}
- role: '*'
  stage: 5
  type: puppet
  parameters: {}
- role: '*'
  stage: pre_deployment
  type: shell
  colour: blue
- stage: pre_deployment
  type: step
  parameters: {interface: disk, step: x y}
`;
    expect(faultsOf(text)).toEqual([
      'tasks.yaml: task 1: role: it must name at least one role',
      expect.stringMatching(/^tasks.yaml: task 1: stage: "post_deployment\/abc": it must be pre_deployment or/),
      'tasks.yaml: task 1: parameters.cmd: it must not be empty',
      'tasks.yaml: task 1: parameters.timeout: it must be above 0 seconds',
      'tasks.yaml: task 1: parameters: unknown field user',
      'tasks.yaml: task 2: stage: it must be text: pre_deployment or post_deployment/100',
      'tasks.yaml: task 2: type: "puppet": it must be shell, step, reboot; puppet and others are not run',
      'tasks.yaml: task 3: unknown field colour',
      'tasks.yaml: task 3: parameters.cmd: it must be text',
      'tasks.yaml: task 3: parameters.timeout: it must be a number of seconds',
      "tasks.yaml: task 4: role: it must be a role, a list of roles, or '*' for all nodes",
      expect.stringMatching(/^tasks.yaml: task 4: parameters.interface: it must be one of vendor/),
      'tasks.yaml: task 4: parameters.step: it must be the name of an agent’s step',
    ]);
  });

  test.each([
    ['', 'tasks.yaml: it must be a list of 1 to 200 tasks'],
    ['[]', 'tasks.yaml: it must be a list of 1 to 200 tasks'],
    ['a: 1', 'tasks.yaml: it must be a list of 1 to 200 tasks'],
  ])('%j', (text, fault) => {
    expect(faultsOf(text)).toEqual([fault]);
  });

  test('no YAML', () => {
    expect(faultsOf('- [')).toEqual([expect.stringMatching(/^tasks.yaml: it is not valid YAML: /)]);
    expect(faultsOf('stage: post_deployment: :50')).toHaveLength(1);
  });

  const task = (more: string): string =>
    `- {role: '*', stage: pre_deployment, type: reboot, parameters: {timeout: 1}${more}}\n`;

  test('an id twice, and one that no task has', () => {
    expect(faultsOf(task(', id: a') + task(', id: a'))).toEqual([
      "tasks.yaml: task 2: id: a is another task's id already",
    ]);
    expect(faultsOf(task(', id: a, requires: [b]') + task(', required_for: [ntp/c]'))).toEqual([
      'tasks.yaml: task 1: requires: there is no task ntp/b: there are ntp/a',
      'tasks.yaml: task 2: required_for: there is no task ntp/c: there are ntp/a',
    ]);
    expect(faultsOf(task(', requires: [other/b]'))).toEqual([]);
    expect(faultsOf(task(', requires: [a/b/c], id: a/b'))).toHaveLength(2);
  });

  test('variables that are Baton’s own, or none', () => {
    const shell = (env: string) =>
      `- {role: '*', stage: pre_deployment, type: shell, parameters: {cmd: x, timeout: 1, env: {${env}}}}`;
    expect(faultsOf(shell('BATON_STAGE: x'))[0]).toContain('BATON_');
    expect(faultsOf(shell('"A-B": x'))[0]).toContain('parameters.env');
    expect(faultsOf(shell('A: [1]'))[0]).toContain('parameters.env.A');
  });
});

test('secrets are refused, whose values nobody repeats', () => {
  const reported = faultsOf(`
- {role: '*', stage: pre_deployment, type: shell, parameters: {cmd: 'curl https://me:pw@x/', timeout: 1, env: {API_TOKEN: hush, LEVEL: 1}}}
- {role: '*', stage: pre_deployment, type: step, parameters: {interface: bios, step: apply_configuration, args: {settings: [{name: AdminPassword, value: hush}]}}}
`);
  const rule = 'which everybody who may read plugins would see: let the task fetch it on the node';
  expect(reported).toEqual([
    `tasks.yaml: task 1: parameters.cmd: it has a URL with a login, ${rule}`,
    `tasks.yaml: task 1: parameters.env.API_TOKEN: it has a secret, ${rule}`,
    `tasks.yaml: task 2: parameters.args.settings.0.value: it has a secret, ${rule}`,
  ]);
});

test('a small text has no megabytes of faults', () => {
  const task = (index: number, more: string) =>
    `- {id: t${index}, role: '*', stage: pre_deployment, type: reboot, parameters: {timeout: 1}${more}}`;
  const names = (count: number) => Array.from({ length: count }, (_, index) => `no${index}`).join(', ');
  expect(faultsOf(task(0, `, requires: [${names(201)}]`))).toEqual([
    'tasks.yaml: task 1: requires: it must have 200 names at most',
  ]);
  const text = Array.from({ length: 50 }, (_, index) => task(index, `, requires: [${names(50)}]`)).join('\n');
  const reported = faultsOf(text);
  expect(reported).toHaveLength(201);
  expect(reported[0]).toContain('there are ntp/t0, ntp/t1');
  expect(reported[0]).toContain('and 40 more');
  expect(reported[200]).toBe('tasks.yaml: 2300 faults more');
  expect(reported.join('').length).toBeLessThan(50_000);
});

test('thousands of keys are not work', () => {
  const keys = Array.from({ length: 7000 }, (_, index) => `k${index}: 1`).join('\n');
  const started = cpuMs();
  expect(faultsOf(keys)).toEqual(['tasks.yaml: it must be a list of 1 to 200 tasks']);
  expect(cpuMs() - started).toBeLessThan(10_000);
});
