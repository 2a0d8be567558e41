import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { createBaremetal } from '#test/support/baremetal.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { demoInstance } from '#test/support/enrol.ts';
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
afterAll(async () => {
  await close();
  await conductor.close();
});
beforeEach(() => {
  count += 1;
  name = `cli-${count}`;
});

const { text: baremetal, json: baremetalJson, rows, failure, close } = createBaremetal(() => conductor.url);

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

    await baremetal('node', 'manage', name, '--wait', '120');
    await baremetal('node', 'provide', name, '--wait', '120');
    expect(await baremetal('node', 'list', '--provision-state', 'available', '-f', 'value')).toContain(uuid);

    await baremetal('port', 'delete', String(port['uuid']));
    await baremetal('node', 'delete', name);
    expect(await failure('node', 'show', name)).toContain(`Node ${name} could not be found.`);
  });

  test('power is switched and read, the boot device set', async () => {
    await createNode();
    await baremetal('node', 'power', 'on', name, '--power-timeout', '30');
    await expect.poll(async () => (await operator.node(name))['power_state']).toBe('power on');
    await baremetal('node', 'power', 'off', name, '--soft');
    await expect.poll(async () => (await operator.node(name))['power_state']).toBe('power off');
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

test('a machine from nothing to an instance and away again', async () => {
  const machine = await startSimulatedNode({
    conductorUrl: () => conductor.url,
    mac: `52:54:00:bb:00:${count.toString(16).padStart(2, '0')}`,
    inspects: true,
  });
  const wait = ['--wait', '120'];
  const node = (): Promise<Record<string, unknown>> => baremetalJson('node', 'show', name);
  try {
    const info = Object.entries(machine.driverInfo).flatMap(([key, value]) => [
      '--driver-info',
      `${key}=${String(value)}`,
    ]);
    const bios = ['--property', 'capabilities=boot_mode:bios'];
    const enrolled = ['--driver', 'redfish', '--name', name, '--network-interface', 'noop', '--resource-class', 'gold'];
    const { uuid } = await baremetalJson('node', 'create', ...enrolled, ...info, ...bios);
    await baremetal('port', 'create', '--node', String(uuid), machine.mac);
    await baremetal('node', 'manage', name, ...wait);
    await baremetal('node', 'inspect', name, ...wait);
    expect(await node()).toMatchObject({ provision_state: 'manageable', properties: { cpu_arch: 'x86_64' } });
    await baremetal('node', 'add', 'trait', name, 'CUSTOM_FAST');
    await baremetal('node', 'provide', name, ...wait);

    const request = ['--resource-class', 'gold', '--name', 'web', '--extra', 'rack=7'];
    const fast = ['--trait', 'CUSTOM_FAST', '--candidate-node', name];
    const allocation = await baremetalJson('allocation', 'create', ...request, ...fast, ...wait);
    expect(allocation).toMatchObject({ state: 'active', node_uuid: uuid, candidate_nodes: [uuid], extra: { rack: 7 } });
    expect(await node()).toMatchObject({ allocation_uuid: allocation['uuid'], instance_uuid: allocation['uuid'] });
    await baremetal('allocation', 'set', 'web', '--name', 'web1', '--extra', 'row=2');
    await baremetal('allocation', 'unset', 'web1', '--extra', 'rack');
    expect(await baremetalJson('allocation', 'show', 'web1')).toMatchObject({ extra: { row: 2 } });
    expect(await rows('allocation', 'list', '--node', name)).toEqual([
      { UUID: allocation['uuid'], Name: 'web1', 'Resource Class': 'gold', State: 'active', 'Node UUID': uuid },
    ]);
    expect(await failure('allocation', 'create', '--resource-class', 'gold', '--wait')).toContain(
      'no available nodes match the resource class gold',
    );

    const instance = Object.entries(demoInstance).flatMap(([key, value]) => ['--instance-info', `${key}=${value}`]);
    await baremetal('node', 'set', name, ...instance, '--automated-clean');
    expect(await baremetal('node', 'validate', name)).toMatch(/deploy +\| True/);
    await baremetal('node', 'deploy', name, '--config-drive', '{"meta_data": {"hostname": "one"}}', ...wait);
    expect(await node()).toMatchObject({
      provision_state: 'active',
      power_state: 'power on',
      instance_info: { image_source: demoInstance.image_source },
    });
    expect(machine.disk.join()).toContain('write_image demo.raw with config drive');
    expect(await failure('allocation', 'delete', 'web1')).toContain('HTTP 409');

    await baremetal('node', 'undeploy', name, ...wait);
    expect(await node()).toMatchObject({ provision_state: 'available', power_state: 'power off', instance_info: {} });
    expect(await node()).toMatchObject({ allocation_uuid: null, instance_uuid: null });
    expect(machine.disk.at(-1)).toBe('erase_devices_metadata');
    expect(await failure('allocation', 'show', 'web1')).toContain('could not be found');
    expect((await rows('node', 'history', 'list', name)).length).toBeGreaterThan(3);
    await baremetal('node', 'delete', name);
    expect(await failure('node', 'show', name)).toContain(`Node ${name} could not be found.`);
  } finally {
    await machine.close();
  }
});
