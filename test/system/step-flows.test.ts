import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { waitUntil as waitUntilWithin } from '#test/lab/wait-until.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { demoInstance, enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** What operators do with steps beyond a plain deploy: lists of their own, holds, aborts, reboots, templates, plans. */

let conductor: ConductorInProcess;
let operator: Operator;
let machine: SimulatedNode;
const name = 'stepper';
const off = { power: 'off', runs: 'nothing' };

beforeAll(async () => {
  conductor = await startConductorInProcess({ log: silentLog });
  operator = createOperator(conductor.url);
  machine = await startSimulatedNode({
    conductorUrl: () => conductor.url,
    mac: '52:54:00:00:03:11',
    cleanSteps: [
      { step: 'wipe', priority: 50 },
      { step: 'flash', rebootRequested: true },
      { step: 'burn_in', abortable: true },
      { step: 'careful' },
    ],
    serviceSteps: [{ step: 'update_firmware' }, { step: 'check' }],
  });
  await enrolSimulatedNode(operator, machine, name);
});
afterAll(async () => {
  await machine.close();
  await conductor.close();
});
beforeEach(() => {
  delete machine.faults.slowStep;
  delete machine.faults.hardwareVersion;
  delete machine.faults.comesBackAs;
  delete machine.faults.failStep;
});

const waitUntil = <T>(what: string, look: () => Promise<T | undefined> | T | undefined) =>
  waitUntilWithin(what, async () => look(), { timeoutMs: 30_000, everyMs: 20 });

interface Step {
  readonly interface: string;
  readonly step: string;
  readonly state: string;
  readonly phase: string;
  readonly error: string | null;
  readonly waiting_for: string | null;
}
const flow = async () => {
  const view = await operator.call('GET', `/v1/nodes/${name}/flow`);
  return { kind: view['kind'], state: view['state'], steps: view['steps'] as Step[] };
};
const runs = async (step: string) =>
  waitUntil(
    `${step} to run`,
    async () => (await flow()).steps.some((each) => each.step === step && each.state === 'waiting') || undefined,
  );
const step = (stepName: string, more: object = {}) => ({ interface: 'deploy', step: stepName, ...more });
const patch = (path: string, value: unknown) =>
  operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path, value }]);

/** From wherever an earlier test left it. */
async function rest(state: 'manageable' | 'available' | 'active'): Promise<void> {
  for (;;) {
    const node = await operator.node(name);
    await operator.call('DELETE', `/v1/nodes/${name}/maintenance`);
    const now = String(node['provision_state']);
    if (now === state) return;
    const verb = { active: 'deleted', available: 'manage', manageable: 'provide' }[now] ?? 'manage';
    const wanted = now === 'available' && state === 'active' ? 'active' : now.startsWith('deploy ') ? 'deleted' : verb;
    if (wanted === 'active') await patch('/instance_info', demoInstance);
    await operator.provision(name, wanted);
    await waitUntil(
      'the node to rest',
      async () => (await operator.node(name))['target_provision_state'] === null || undefined,
    );
  }
}

describe('manual cleaning', () => {
  beforeEach(() => rest('manageable'));

  test('runs what is listed, in that order, reboots where a step wants it, and ends manageable', async () => {
    const disk = machine.disk.length;
    await operator.provision(name, 'clean', {
      clean_steps: [step('careful', { args: { note: 'first' } }), step('flash'), step('wipe')],
    });
    await operator.waitForState(name, 'manageable');
    expect(machine.disk.slice(disk)).toEqual(['careful', 'flash', 'wipe']);
    expect((await flow()).steps.map((each) => each.step)).toEqual([
      'boot_ramdisk',
      'careful',
      'flash',
      'reboot_ramdisk',
      'wipe',
      'tear_down_agent',
      'leave_network',
    ]);
    expect(machine.state()).toEqual(off);
  });

  test.each([
    [{ clean_steps: [step('careful', { args: { loudly: true } })] }, 'unknown argument loudly; it takes note'],
    [{ clean_steps: [step('careful', { priority: 3 })] }, 'priority'],
    [{ clean_steps: [{ interface: 'deploy' }] }, 'step'],
    [{ clean_steps: [{ step: 'careful', interface: 'disk' }] }, 'interface: must be one of'],
  ])('refuses %j before anything happens', async (body, fault) => {
    await expect(operator.provision(name, 'clean', body)).rejects.toThrow(fault);
    expect((await operator.node(name))['provision_state']).toBe('manageable');
  });

  test('a step that nobody has fails once the agent has told its list', async () => {
    await operator.provision(name, 'clean', { clean_steps: [step('polish')] });
    const node = await operator.waitForState(name, 'clean failed');
    expect(node['last_error']).toContain('no step deploy.polish');
    expect(node['maintenance']).toBe(true);
    expect(machine.state()).toEqual(off);
  });

  test('holds until the operator says unhold, with reboot, wait and power_off between steps', async () => {
    const disk = machine.disk.length;
    const list = [
      step('wipe'),
      step('hold'),
      step('reboot'),
      step('wait', { args: { seconds: 0.2 } }),
      step('careful'),
    ];
    await operator.provision(name, 'clean', { clean_steps: list });
    await waitUntil(
      'the hold',
      async () => (await operator.node(name))['provision_state'] === 'clean hold' || undefined,
    );
    expect(machine.disk.slice(disk)).toEqual(['wipe']);
    expect((await flow()).steps.find((each) => each.step === 'hold')?.waiting_for).toContain('unhold');
    await operator.provision(name, 'unhold');
    await operator.waitForState(name, 'manageable');
    expect(machine.disk.slice(disk)).toEqual(['wipe', 'careful']);
    expect((await flow()).steps.every((each) => each.state === 'succeeded')).toBe(true);
  });

  test('abort on hold ends it: clean failed, off, without maintenance', async () => {
    await operator.provision(name, 'clean', { clean_steps: [step('hold'), step('wipe')] });
    await waitUntil(
      'the hold',
      async () => (await operator.node(name))['provision_state'] === 'clean hold' || undefined,
    );
    await operator.provision(name, 'abort');
    expect((await operator.waitForState(name, 'clean failed'))['maintenance']).toBe(false);
    expect(machine.state()).toEqual(off);
  });

  test('abort stops an abortable step at once', async () => {
    machine.faults.slowStep = { step: 'burn_in', ms: 600_000 };
    const disk = machine.disk.length;
    await operator.provision(name, 'clean', { clean_steps: [step('burn_in'), step('wipe')] });
    await runs('burn_in');
    await operator.provision(name, 'abort');
    await operator.waitForState(name, 'clean failed');
    expect(machine.disk.slice(disk)).toEqual([]);
  });

  test('abort lets a step end that may not be interrupted, and nothing after it begins', async () => {
    machine.faults.slowStep = { step: 'careful', ms: 700 };
    const disk = machine.disk.length;
    await operator.provision(name, 'clean', { clean_steps: [step('careful'), step('wipe')] });
    await runs('careful');
    await operator.provision(name, 'abort');
    expect((await operator.node(name))['provision_state']).toBe('clean wait');
    const node = await operator.waitForState(name, 'clean failed');
    expect(node['last_error']).toContain("stopped by the operator's 'abort'");
    expect(machine.disk.slice(disk)).toEqual(['careful']);
  });

  test('with disable_ramdisk boots nothing, and refuses in-band steps', async () => {
    const refused = operator.provision(name, 'clean', { clean_steps: [step('wipe')], disable_ramdisk: true });
    await expect(refused).rejects.toThrow('no agent runs there');
    await operator.provision(name, 'clean', {
      clean_steps: [step('power_on'), step('power_off')],
      disable_ramdisk: true,
    });
    await operator.waitForState(name, 'manageable');
    expect((await flow()).steps.map((each) => each.step)).toEqual(['power_on', 'power_off', 'leave_network']);
    expect(machine.state()).toEqual(off);
  });
});

describe('another ramdisk after a reboot', () => {
  test('automated cleaning begins anew with its steps', async () => {
    await rest('manageable');
    await patch('/automated_clean', true);
    const disk = machine.disk.length;
    machine.faults.dieInStep = 'wipe';
    machine.faults.comesBackAs = '2';
    await operator.provision(name, 'provide');
    await operator.waitForState(name, 'available');
    await patch('/automated_clean', false);
    const { steps } = await flow();
    expect(machine.disk.slice(disk)).toEqual(['wipe']);
    expect(steps.map(({ step: each, state }) => [each, state])).toEqual([
      ['boot_ramdisk', 'succeeded'],
      ['wipe', 'skipped'],
      ['gather_steps', 'succeeded'],
      ['wipe', 'succeeded'],
      ['tear_down_agent', 'succeeded'],
      ['leave_network', 'succeeded'],
    ]);
    expect(steps[1]?.error).toContain('cleaning begins anew');
  });

  test('a deploy ends', async () => {
    await rest('available');
    await patch('/instance_info', demoInstance);
    machine.faults.dieInStep = 'tune_image';
    machine.faults.comesBackAs = '2';
    await operator.provision(name, 'active');
    const node = await operator.waitForState(name, 'deploy failed');
    expect(node['last_error']).toContain('other hardware manager');
    expect(machine.state()).toEqual(off);
  });
});

describe('service', () => {
  beforeEach(() => rest('active'));

  test('takes the instance through the ramdisk and back', async () => {
    const disk = machine.disk.length;
    await operator.provision(name, 'service', { service_steps: [step('update_firmware'), step('check')] });
    await operator.waitForState(name, 'active');
    expect(machine.disk.slice(disk)).toEqual(['update_firmware', 'check']);
    expect(machine.state()).toEqual({ power: 'on', runs: 'instance' });
  });

  test('that fails leaves the machine off; abort brings the instance back', async () => {
    machine.faults.failStep = { step: 'check', message: 'the card is dead' };
    await operator.provision(name, 'service', { service_steps: [step('check')] });
    const node = await operator.waitForState(name, 'service failed');
    expect(node).toMatchObject({ maintenance: true, fault: 'service failure' });
    expect(node['last_error']).toContain('the card is dead');
    expect(machine.state()).toEqual(off);
    await operator.call('DELETE', `/v1/nodes/${name}/maintenance`);
    await operator.provision(name, 'abort');
    await waitUntil('the instance', () => machine.state().runs === 'instance' || undefined);
    await operator.waitForState(name, 'active');
  });
});

describe('a plan', () => {
  const plan = (body: object) => operator.call('POST', `/v1/nodes/${name}/plan`, body);
  const stepsOf = (view: Record<string, unknown>) =>
    (view['steps'] as { step: string; reason: string; origin: string }[]).map((each) => each);

  test('says why each step is there, from template and request; the deploy does what was read', async () => {
    await rest('available');
    await operator.call('POST', '/v1/deploy_templates', {
      name: 'CUSTOM_TUNED',
      steps: [{ ...step('prepare_disks'), args: {}, priority: 95 }],
    });
    await operator.call('PUT', `/v1/nodes/${name}/traits`, { traits: ['CUSTOM_TUNED'] });
    await patch('/instance_info', { ...demoInstance, traits: ['CUSTOM_TUNED'] });
    const deploySteps = [{ ...step('tune_image'), args: { note: 'x' }, priority: 0 }];
    const view = await plan({ deploy_steps: deploySteps });
    expect(stepsOf(view).map((each) => each.step)).toEqual([
      'deploy',
      'prepare_disks',
      'write_image',
      'prepare_instance_boot',
      'tear_down_agent',
      'switch_to_tenant_network',
      'boot_instance',
    ]);
    expect(stepsOf(view)[1]).toMatchObject({ origin: 'template' });
    expect(stepsOf(view)[1]?.reason).toBe(
      'template CUSTOM_TUNED asks for it at priority 95; overrides: the agent offers it at priority 90',
    );
    expect(view).toMatchObject({ complete: true, reboots: 2 });
    expect(view['predicted_seconds']).toBeGreaterThan(0);
    const state = await operator.node(name);
    expect(state).toMatchObject({ provision_state: 'available', power_state: 'power off' });

    const disk = machine.disk.length;
    await operator.provision(name, 'active', { deploy_steps: deploySteps, plan_hash: view['hash'] });
    await operator.waitForState(name, 'active');
    expect(machine.disk.slice(disk)).toEqual(['prepare_disks', 'write_image demo.raw']);
    await operator.call('DELETE', `/v1/nodes/${name}/traits`);
  });

  test('that is another by now is refused, and the node is left alone', async () => {
    await rest('available');
    await patch('/instance_info', demoInstance);
    const { hash } = await plan({});
    await patch('/instance_info/image_os_hash_value', 'a'.repeat(64));
    const refused = operator.provision(name, 'active', { plan_hash: hash });
    await expect(refused).rejects.toThrow(/409.*plan_hash: the plan is no longer the one that was read/);
    expect((await operator.node(name))['provision_state']).toBe('available');
  });

  test('of a ramdisk that has changed since fails before the image is written', async () => {
    await rest('available');
    await patch('/instance_info', demoInstance);
    const { hash } = await plan({});
    const other = await startSimulatedNode({
      conductorUrl: () => conductor.url,
      mac: machine.mac,
      deploySteps: { prepare_disks: 90, tune_image: 70, surprise: 65 },
    });
    try {
      await patch('/driver_info', other.driverInfo);
      await operator.provision(name, 'active', { plan_hash: hash });
      const node = await operator.waitForState(name, 'deploy failed');
      expect(node['last_error']).toContain('the plan is no longer the one that was read');
      expect(other.disk).toEqual([]);
      expect(other.state()).toEqual(off);
    } finally {
      await patch('/driver_info', machine.driverInfo);
      await other.close();
    }
  });

  test.each([
    [{ target: 'clean' }, 'clean_steps: it must be given'],
    [{ target: 'active', clean_steps: [step('wipe')] }, "clean_steps: it does not go with target 'active'"],
    [{ target: 'fly' }, 'target: must be one of active'],
    [{ deploy_steps: [{ ...step('boot_instance'), args: {}, priority: 0 }] }, "is the conductor's own step"],
  ])('of %j is refused', async (body, fault) => {
    await expect(plan(body)).rejects.toThrow(fault);
  });
});

describe('boot from volume', () => {
  test('boots the instance without image and without agent', async () => {
    await rest('available');
    const { uuid } = await operator.node(name);
    const volume = await operator.call('POST', '/v1/volume/targets', {
      node_uuid: uuid,
      volume_type: 'iscsi',
      volume_id: 'disk-7',
      boot_index: 0,
      properties: { target_portal: '192.0.2.5:3260', target_iqn: 'iqn.2026-01.org.example:disk', target_lun: 1 },
    });
    try {
      await patch('/instance_info', {});
      const refused = operator.provision(name, 'active', {
        deploy_steps: [{ ...step('prepare_disks'), args: {}, priority: 90 }],
      });
      await expect(refused).rejects.toThrow('no agent runs there, for the node boots from volume disk-7');
      const disk = machine.disk.length;
      await operator.provision(name, 'active');
      await operator.waitForState(name, 'active');
      expect((await flow()).steps.map((each) => each.step)).toEqual([
        'power_off',
        'prepare_instance_boot',
        'switch_to_tenant_network',
        'boot_instance',
      ]);
      expect(machine.disk.length).toBe(disk);
      const script = await (await fetch(`${conductor.url}/boot/node.ipxe?mac=${machine.mac}`)).text();
      expect(script).toContain('sanboot --no-describe iscsi:192.0.2.5::3260:1:iqn.2026-01.org.example:disk');
      await rest('available');
    } finally {
      await operator.call('DELETE', `/v1/nodes/${name}/maintenance`);
      await operator.call('PUT', `/v1/nodes/${name}/states/power`, { target: 'power off' });
      await waitUntil('power off', async () => (await operator.node(name))['power_state'] === 'power off' || undefined);
      await operator.call('DELETE', `/v1/volume/targets/${String(volume['uuid'])}`);
    }
  });
});

describe('fast track', () => {
  test('the ramdisk of a cleaning runs on, and the deploy does not boot it again', async () => {
    await rest('manageable');
    await patch('/driver_info/fast_track', true);
    await operator.provision(name, 'clean', { clean_steps: [step('wipe')] });
    await operator.waitForState(name, 'manageable');
    expect(machine.state()).toEqual({ power: 'on', runs: 'ramdisk' });
    await rest('available');
    await patch('/instance_info', demoInstance);
    const boots = machine.boots();
    await operator.provision(name, 'active');
    await operator.waitForState(name, 'active');
    expect(machine.state()).toEqual({ power: 'on', runs: 'instance' });
    // the instance's own
    expect(machine.boots() - boots).toBe(1);
    expect(machine.disk.slice(-3)).toEqual(['prepare_disks', 'write_image demo.raw', 'tune_image']);
    await patch('/driver_info/fast_track', false);
  });

  test('a ramdisk that no longer answers is booted', async () => {
    await rest('manageable');
    await patch('/driver_info/fast_track', true);
    await operator.provision(name, 'clean', { clean_steps: [step('wipe')] });
    await operator.waitForState(name, 'manageable');
    await machine.stopAgent();
    await operator.provision(name, 'clean', { clean_steps: [step('careful')] });
    await operator.waitForState(name, 'manageable');
    expect(machine.disk.at(-1)).toBe('careful');
    await patch('/driver_info/fast_track', false);
  });

  test('is true or false', async () => {
    await rest('manageable');
    await patch('/driver_info/fast_track', 'maybe');
    await operator.provision(name, 'clean', { clean_steps: [step('wipe')] });
    const node = await operator.waitForState(name, 'clean failed');
    expect(node['last_error']).toContain('driver_info.fast_track: it must be true or false');
    await patch('/driver_info/fast_track', false);
  });
});
