import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { createBaremetal } from '#test/support/baremetal.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { demoInstance, enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** Debian's real `baremetal` CLI (python3-ironicclient) against a conductor process. */

let conductor: ConductorProcess;
let operator: Operator;
let count = 0;
let name: string;

beforeAll(async () => {
  conductor = await prepareConductor();
  await conductor.start();
  operator = createOperator(conductor.url);
});
afterAll(() => conductor.close());
beforeEach(() => {
  count += 1;
  name = `cli-${count}`;
});

const { text: baremetal, json: baremetalJson, failure } = createBaremetal(() => conductor.url);

async function createNode(): Promise<string> {
  const node = await baremetalJson('node', 'create', '--driver', 'fake-hardware', '--name', name);
  return String(node['uuid']);
}

describe('with fake hardware', () => {
  test('a node goes from nothing to available and away again', async () => {
    const uuid = await createNode();
    const port = await baremetalJson('port', 'create', '--node', uuid, '52:54:00:AA:00:01');
    expect(port).toMatchObject({ address: '52:54:00:aa:00:01', node_uuid: uuid });
    expect(await baremetal('port', 'list', '--node', uuid, '-f', 'value')).toContain('52:54:00:aa:00:01');

    await baremetal('node', 'set', name, '--property', 'cpu_arch=x86_64', '--extra', 'rack=7', '--no-automated-clean');
    await baremetal('node', 'unset', name, '--extra', 'rack');
    expect(await baremetalJson('node', 'show', name)).toMatchObject({
      properties: { cpu_arch: 'x86_64' },
      extra: {},
      automated_clean: false,
      provision_state: 'enroll',
    });

    await baremetal('node', 'manage', name, '--wait', '60');
    await baremetal('node', 'provide', name, '--wait', '60');
    expect(await baremetal('node', 'list', '--provision-state', 'available', '-f', 'value')).toContain(uuid);

    await baremetal('port', 'delete', String(port['uuid']));
    await baremetal('node', 'delete', name);
    expect(await failure('node', 'show', name)).toContain(`Node ${name} could not be found.`);
  });

  test('power is switched and read, the boot device set', async () => {
    await createNode();
    await baremetal('node', 'power', 'on', name, '--power-timeout', '30');
    await expect.poll(async () => (await operator.node(name))['power_state'], { timeout: 20_000 }).toBe('power on');
    await baremetal('node', 'power', 'off', name, '--soft');
    await expect.poll(async () => (await operator.node(name))['power_state'], { timeout: 20_000 }).toBe('power off');
    await baremetal('node', 'boot', 'device', 'set', name, 'pxe', '--persistent');
    expect(await baremetalJson('node', 'boot', 'device', 'show', name)).toEqual({
      boot_device: 'pxe',
      persistent: true,
    });
  });

  test('maintenance, validate, traits, history', async () => {
    await createNode();
    await baremetal('node', 'maintenance', 'set', name, '--reason', 'bad fan');
    expect(await baremetalJson('node', 'show', name)).toMatchObject({
      maintenance: true,
      maintenance_reason: 'bad fan',
    });
    await baremetal('node', 'maintenance', 'unset', name);
    expect(await baremetal('node', 'validate', name)).toMatch(/power +\| True/);
    await baremetal('node', 'add', 'trait', name, 'CUSTOM_GOLD');
    expect(await baremetal('node', 'trait', 'list', name)).toContain('CUSTOM_GOLD');
    expect(await baremetal('node', 'history', 'list', name)).toContain('maintenance on: bad fan');
  });

  test('errors are readable', async () => {
    await createNode();
    expect(await failure('node', 'create', '--driver', 'nope')).toContain('supports driver nope; there are');
    expect(await failure('node', 'create', '--driver', 'ipmi', '--name', name)).toContain('already exists');
    expect(await failure('node', 'set', name, '--name', 'bad name!')).toContain("'bad name!': it must be");
    expect(await failure('node', 'deploy', name)).toContain("while it is in state 'enroll'. Possible now: manage");
    expect(await failure('node', 'list', '--provision-state', 'weird')).toContain('"weird" is not valid');
  });
});

describe('with a simulated machine', () => {
  let machine: SimulatedNode;
  beforeEach(async () => {
    machine = await startSimulatedNode({
      conductorUrl: () => conductor.url,
      mac: `52:54:00:bb:00:${count.toString(16).padStart(2, '0')}`,
    });
    return () => machine.close();
  });

  test('deploys with image and config drive, and undeploys with a cleaning', async () => {
    await enrolSimulatedNode(operator, machine, name, { instance_info: {} });
    const info = Object.entries(demoInstance).flatMap(([key, value]) => ['--instance-info', `${key}=${value}`]);
    await baremetal('node', 'set', name, ...info, '--automated-clean');
    await baremetal('node', 'deploy', name, '--config-drive', '{"meta_data": {"hostname": "one"}}', '--wait', '120');
    expect(await baremetalJson('node', 'show', name)).toMatchObject({
      provision_state: 'active',
      power_state: 'power on',
      instance_info: { image_source: demoInstance.image_source },
    });
    expect(machine.disk.join()).toContain('write_image demo.raw with config drive');

    await baremetal('node', 'undeploy', name, '--wait', '120');
    expect(await baremetalJson('node', 'show', name)).toMatchObject({
      provision_state: 'available',
      power_state: 'power off',
      instance_info: {},
    });
    expect(machine.disk.at(-1)).toBe('erase_devices_metadata');
  });
});
