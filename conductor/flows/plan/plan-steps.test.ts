import { describe, expect, test } from 'vitest';
import { planCleanup, planSteps } from '#conductor/flows/plan/plan-steps.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import type { PlanFacts, RequestedStep } from '#conductor/model/flows/planned-step.ts';
import { AdvertisedStep } from '#shared/wire/step.ts';

const advertise = (step: string, priority: number, more: Record<string, unknown> = {}) =>
  AdvertisedStep.parse({ interface: 'deploy', step, priority, ...more });
const request = (step: string, priority: number, stepInterface = 'deploy') => ({
  interface: stepInterface,
  step,
  priority,
  args: { wanted: true },
});
const names = (plan: readonly { readonly interface: string; readonly step: string }[]) =>
  plan.map((step) => `${step.interface}.${step.step}`);

const decomposed = [
  'deploy.deploy',
  'deploy.write_image',
  'deploy.prepare_instance_boot',
  'deploy.tear_down_agent',
  'deploy.switch_to_tenant_network',
  'deploy.boot_instance',
];

describe('a deploy', () => {
  test('is the decomposed sequence of the seed', () => {
    const plan = planSteps(flowKinds.deploy, { requested: [] });
    expect(names(plan)).toEqual(decomposed);
    expect(plan.map((step) => step.priority)).toEqual([100, 80, 60, 40, 30, 20]);
  });

  test('of a node that only pretends does nothing at the machine but what its fake BMC does', () => {
    const pretends = { isFake: true, withoutAgent: 'its deploy interface is fake' };
    expect(names(planSteps(flowKinds.deploy, { ...pretends, requested: [] }))).toEqual([
      'deploy.fake_deploy',
      'deploy.switch_to_tenant_network',
      'deploy.boot_instance',
    ]);
    expect(names(planSteps(flowKinds.clean, { ...pretends, requested: [] }))).toEqual(['deploy.leave_network']);
  });

  test('whose image the agent writes by itself has no write_image, unless that is asked for', () => {
    const facts = { withoutImage: 'its deploy interface is custom-agent', advertised: [advertise('install', 80)] };
    expect(names(planSteps(flowKinds.deploy, { ...facts, requested: [] }))).toEqual(
      decomposed.map((name) => (name === 'deploy.write_image' ? 'deploy.install' : name)),
    );
    const asked = { interface: 'deploy', step: 'write_image', priority: 70, args: {} };
    expect(names(planSteps(flowKinds.deploy, { ...facts, requested: [asked] }))).toEqual(
      decomposed.toSpliced(1, 0, 'deploy.install'),
    );
  });

  test('names the driver that does not offer a step where no agent runs', () => {
    const requested = [{ interface: 'management', step: 'set_bmc_clock', priority: 0, args: {} }];
    expect(() => planSteps(flowKinds.service, { withoutAgent: 'its deploy interface is fake', requested })).toThrow(
      "management.set_bmc_clock: the node's driver does not offer it, and no agent runs there, for its deploy",
    );
  });

  test('of a ramdisk boots no ramdisk of ours before, and writes nothing', () => {
    const facts = { isRamdisk: true, withoutAgent: 'its deploy interface is ramdisk', requested: [] };
    expect(names(planSteps(flowKinds.deploy, facts))).toEqual([
      'power.power_off',
      'deploy.switch_to_tenant_network',
      'deploy.boot_instance',
    ]);
  });

  test('has in-band steps between core steps by priority, and hides those that the conductor has itself', () => {
    const advertised = [
      advertise('late', 41),
      advertise('write_image', 5),
      advertise('early', 99),
      advertise('off', 0),
    ];
    expect(names(planSteps(flowKinds.deploy, { advertised, requested: [] }))).toEqual([
      'deploy.deploy',
      'deploy.early',
      'deploy.write_image',
      'deploy.prepare_instance_boot',
      'deploy.late',
      'deploy.tear_down_agent',
      'deploy.switch_to_tenant_network',
      'deploy.boot_instance',
    ]);
  });

  test.each([40, 100, 101])('refuses an in-band step of priority %i by name and range', (priority) => {
    const plan = () => planSteps(flowKinds.deploy, { advertised: [advertise('flash', priority)], requested: [] });
    expect(plan).toThrow(`in-band step deploy.flash has priority ${priority}; it must be 41 to 99`);
  });

  test('takes priority and arguments from the request, and the reboot from the step itself', () => {
    const advertised = [advertise('flash', 0, { reboot_requested: true, argsinfo: { wanted: { required: true } } })];
    const plan = planSteps(flowKinds.deploy, { advertised, requested: [request('flash', 90)] });
    expect(plan[1]).toMatchObject({ step: 'flash', priority: 90, args: { wanted: true }, origin: 'request' });
    expect(plan[2]).toMatchObject({ step: 'reboot_ramdisk', origin: 'core', inBand: false });
  });

  test('leaves unknown requested steps until the agent has told its own, and refuses them then', () => {
    const requested = [request('nobody_has_it', 90)];
    const [, unknown] = planSteps(flowKinds.deploy, { requested });
    expect(unknown).toMatchObject({ step: 'nobody_has_it', inBand: true, origin: 'request' });
    const stale = planSteps(flowKinds.deploy, { advertised: [], isStale: true, requested });
    expect(names(stale)).toContain('deploy.nobody_has_it');
    expect(() => planSteps(flowKinds.deploy, { advertised: [], requested })).toThrow('no step deploy.nobody_has_it');
  });

  test('takes no instance down for a step that the list of the last boot lacks; an empty list says nothing', () => {
    const requested = [request('nobody_has_it', 0)];
    const service = (facts: Partial<PlanFacts>) => names(planSteps(flowKinds.service, { requested, ...facts }));
    expect(() => service({ advertised: [advertise('a', 0)], isStale: true })).toThrow(
      /no step deploy\.nobody_has_it.*they have deploy\.a\); .*reads them again/,
    );
    expect(service({ advertised: [], isStale: true })).toContain('deploy.nobody_has_it');
    expect(service({})).toContain('deploy.nobody_has_it');
    expect(() => service({ advertised: [] })).toThrow('no step deploy.nobody_has_it');
  });

  test('does not power off an instance that was left running before it brings it back', () => {
    const back = ['deploy.switch_to_tenant_network', 'deploy.boot_instance'];
    expect(names(planSteps(flowKinds.restore, { requested: [], instanceRuns: true }))).toEqual(back);
    expect(names(planSteps(flowKinds.restore, { requested: [] }))).toEqual(['power.power_off', ...back]);
  });

  test('refuses the same step twice', () => {
    const twice = [request('a', 90), request('a', 91)];
    expect(() => planSteps(flowKinds.deploy, { requested: twice })).toThrow('deploy.a is given twice');
  });

  test.each([
    ['deploy', 0],
    ['deploy', 50],
    ['prepare_instance_boot', 0],
    ['tear_down_agent', 0],
    ['switch_to_tenant_network', 0],
    ['boot_instance', 90],
    ['leave_network', 90],
    ['reboot_ramdisk', 90],
  ])('does not let a request override %s to %i', (step, priority) => {
    const plan = () => planSteps(flowKinds.deploy, { requested: [request(step, priority)] });
    expect(plan).toThrow(`deploy.${step} is the conductor's own step`);
  });

  test('lets a request move the image within the agent’s time', () => {
    const move = (priority: number, args = {}) =>
      planSteps(flowKinds.deploy, { requested: [{ ...request('write_image', priority), args }] });
    expect(move(70)[1]).toMatchObject({ step: 'write_image', priority: 70, inBand: true });
    for (const priority of [0, 60, 100]) expect(() => move(priority)).toThrow(`may not have priority ${priority}`);
    expect(() => move(70, { image_info: {} })).toThrow('takes no args (image_info)');
  });

  test('sorts equal priorities by interface rank', () => {
    const advertised = ['raid', 'bios', 'vendor', 'deploy'].map((name) => advertise('same', 90, { interface: name }));
    const plan = names(planSteps(flowKinds.deploy, { advertised, requested: [] }));
    expect(plan.slice(1, 5)).toEqual(['vendor.same', 'deploy.same', 'bios.same', 'raid.same']);
  });
});

test('an argument of the wrong type is refused before anything runs, where the agent tells the types', () => {
  const rules = { argsinfo: { note: {} }, baton_args: { note: { types: ['string'] } } };
  const advertised = [advertise('stamp', 0, rules)];
  const stamp = (note: unknown) => ({ interface: 'deploy', step: 'stamp', priority: 50, args: { note } });
  const refusal = 'deploy.stamp: note must be a text, not an object';
  const plan = (kind: 'deploy' | 'manual_clean', isStale: boolean, note: unknown) =>
    planSteps(flowKinds[kind], { advertised, isStale, requested: [stamp(note)] });
  expect(() => plan('deploy', true, { deep: [1] })).toThrow(`deploy_steps: ${refusal}`);
  expect(() => plan('deploy', false, { deep: [1] })).toThrow(refusal);
  expect(() => plan('manual_clean', true, { deep: [1] })).toThrow(refusal);
  expect(() => plan('deploy', false, 'a text')).not.toThrow();
  const templates = [{ name: 'CUSTOM_STAMP', steps: [stamp([1])] }];
  expect(() => planSteps(flowKinds.deploy, { advertised, requested: [], templates })).toThrow(
    'template CUSTOM_STAMP: deploy.stamp: note must be a text, not a list',
  );
});

describe('steps of one priority', () => {
  const own = (name: string) => ({ interface: 'deploy', step: name, priority: 70, args: {} });

  test.each([
    ['the request', { requested: [own('b'), own('a')] }],
    ['a template', { requested: [], templates: [{ name: 'CUSTOM_BA', steps: [own('b'), own('a')] }] }],
    [
      'two templates',
      {
        requested: [],
        templates: [
          { name: 'CUSTOM_B', steps: [own('b')] },
          { name: 'CUSTOM_A', steps: [own('a')] },
        ],
      },
    ],
    [
      'the request, one of which a template has',
      { requested: [own('b'), own('a')], templates: [{ name: 'CUSTOM_A', steps: [own('a')] }] },
    ],
  ])('run in the order of %s, whatever that of the agent', (_, facts) => {
    const advertised = [advertise('a', 0), advertise('own', 70), advertise('b', 0)];
    const between = names(planSteps(flowKinds.deploy, { ...facts, advertised })).slice(2, -4);
    expect(between).toEqual(['deploy.own', 'deploy.b', 'deploy.a']);
  });
});

describe('a reboot that a step asks for', () => {
  const flash = advertise('flash', 50, { reboot_requested: true });

  test('is left out where the machine is powered off and on anyway', () => {
    const plan = planSteps(flowKinds.deploy, { advertised: [flash], requested: [] });
    expect(names(plan)).toEqual(decomposed.toSpliced(3, 0, 'deploy.flash'));
    const asked = [{ interface: 'deploy', step: 'flash', priority: 0, args: {} }];
    expect(names(planSteps(flowKinds.service, { advertised: [flash], requested: asked })).slice(0, 3)).toEqual([
      'deploy.boot_ramdisk',
      'deploy.flash',
      'deploy.tear_down_agent',
    ]);
  });

  test.each([
    ['something in-band follows', flowKinds.deploy, { advertised: [flash, advertise('check', 45)] }],
    ['the written system is booted by kexec', flowKinds.deploy, { kexec: { asked: 'kexec', refused: undefined } }],
    ['the ramdisk may run on', flowKinds.clean, {}],
  ] as const)('comes where %s', (_, kind, facts) => {
    const plan = names(planSteps(kind, { advertised: [flash], requested: [], ...facts }));
    expect(plan[plan.indexOf('deploy.flash') + 1]).toBe('deploy.reboot_ramdisk');
  });
});

test('cleaning opens and closes around the agent’s steps, whatever their priority', () => {
  const advertised = [advertise('erase_devices_metadata', 99), advertise('burn_in', 0), advertise('vendor', 1000)];
  expect(names(planSteps(flowKinds.clean, { advertised, requested: [] }))).toEqual([
    'deploy.boot_ramdisk',
    'deploy.vendor',
    'deploy.erase_devices_metadata',
    'deploy.tear_down_agent',
    'deploy.leave_network',
  ]);
});

describe('steps in the order asked for', () => {
  const ask = (...requested: readonly RequestedStep[]) =>
    planSteps(flowKinds.manual_clean, { advertised: [advertise('wipe', 0)], requested });
  const plain = (step: string, args = {}) => ({ ...request(step, 0), args });

  test.each([
    [[plain('power_off'), plain('wipe')], 'step 2 of the request, deploy.wipe, needs the agent, but step 1 powers'],
    [[plain('power_on'), plain('power_off'), plain('hold'), plain('wipe')], 'step 4 of the request'],
    [[plain('power_off'), plain('wait')], 'step 2 of the request, deploy.wait, needs the agent'],
  ])('the agent is not asked while the machine is off: %j', (requested, fault) => {
    expect(() => ask(...requested)).toThrow(fault);
  });

  test.each([['power_on'], ['reboot']])('%s brings it back', (step) => {
    const steps = [plain('power_off'), plain('wait', { seconds: 5 }), plain(step), plain('wipe')];
    expect(names(ask(...steps)).slice(1, 5)).toEqual([
      'power.power_off',
      'deploy.wait',
      `power.${step}`,
      'deploy.wipe',
    ]);
  });

  test.each([
    [plain('wait', { seconds: 'x' }), 'step deploy.wait got bad arguments: seconds'],
    [plain('wait', { minutes: 1 }), 'Unrecognized key: "minutes"'],
    [plain('reboot', { hard: true }), 'step power.reboot got bad arguments'],
    [plain('hold', { x: 1 }), 'step deploy.hold got bad arguments'],
  ])('arguments of %j are refused when it is asked for', (step, fault) => {
    expect(() => ask(step)).toThrow(fault);
  });

  test('a deploy checks those of its hold too', () => {
    const plan = () => planSteps(flowKinds.deploy, { requested: [{ ...plain('hold', { x: 1 }), priority: 90 }] });
    expect(plan).toThrow('deploy_steps: step deploy.hold got bad arguments');
  });
});

test('a failed deploy leaves the machine off and off every network', () => {
  expect(names(planCleanup(flowKinds.deploy))).toEqual([
    'deploy.collect_logs',
    'power.power_off',
    'deploy.leave_network',
  ]);
});

test('the conductor’s setting overrides priorities of agent’s and drivers’ steps, and says so; 0 leaves out', () => {
  const advertised = [advertise('erase_devices', 10), advertise('erase_devices_metadata', 0), advertise('check', 50)];
  const priorities = new Map([
    ['deploy.erase_devices', 0],
    ['deploy.erase_devices_metadata', 99],
    ['deploy.boot_ramdisk', 5],
    ['raid.nobody_has_it', 5],
  ]);
  const plan = planSteps(flowKinds.clean, { advertised, requested: [], priorities });
  expect(names(plan)).toEqual([
    'deploy.boot_ramdisk',
    'deploy.erase_devices_metadata',
    'deploy.check',
    'deploy.tear_down_agent',
    'deploy.leave_network',
  ]);
  expect(plan[1]?.reason).toBe(
    'BATON_CLEAN_STEP_PRIORITIES puts it at priority 99; overrides: the agent offers it at priority 0',
  );
});
