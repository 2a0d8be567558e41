import { afterAll, beforeAll, beforeEach, describe, expect, onTestFailed, test } from 'vitest';
import { run } from '#shared/process/run.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** The inspect verb: a conductor process, Redfish BMCs, real agents whose hardware is pretended. */

const switchPort = { switchId: '00:11:22:33:44:55', portId: 'Ethernet1/7', switchName: 'leaf-7' };

let conductor: ConductorProcess;
let operator: Operator;
let count = 0;
let name: string;
let machine: SimulatedNode;

beforeAll(async () => {
  conductor = await prepareConductor();
  await conductor.start();
  operator = createOperator(conductor.url);
});
afterAll(() => conductor.close());
beforeEach(() => {
  count += 1;
  name = `inspected-${count}`;
  onTestFailed(() => {
    process.stderr.write(conductor.log().slice(-6000));
  });
});

async function enrol(options: Partial<Parameters<typeof startSimulatedNode>[0]> = {}): Promise<string> {
  const mac = `52:54:00:00:10:${count.toString(16).padStart(2, '0')}`;
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac, ...options });
  await operator.call('POST', '/v1/nodes', {
    name,
    driver: 'redfish',
    driver_info: machine.driverInfo,
    properties: { capabilities: 'boot_mode:bios,rack:7' },
    network_interface: 'noop',
  });
  await operator.call('POST', '/v1/ports', { node_uuid: (await operator.node(name))['uuid'], address: mac });
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  return mac;
}

const inventoryOf = (node: string) => operator.call('GET', `/v1/nodes/${node}/inventory`);
const portsOf = async (node: string) => (await operator.call('GET', `/v1/ports/detail?node=${node}`))['ports'];
const lastSteps = async () => {
  const { steps } = (await operator.call('GET', `/v1/nodes/${name}/flow`)) as {
    steps: { step: string; state: string }[];
  };
  return steps.map(({ step, state }) => `${step} ${state}`);
};

describe.each([
  { what: 'reports by itself', inspects: true, portId: 'Ethernet1/6' },
  { what: 'is asked', inspects: false, portId: 'Ethernet1/7' },
])('a ramdisk that $what', ({ inspects, portId }) => {
  test('fills the node’s properties and its switch port', async () => {
    const mac = await enrol({ inspects, switchPort: { ...switchPort, portId } });
    try {
      await operator.provision(name, 'inspect');
      const node = await operator.waitForState(name, 'manageable');
      expect(node).toMatchObject({
        properties: {
          capabilities: 'rack:7,boot_mode:bios',
          cpu_arch: 'x86_64',
          cpus: 8,
          memory_mb: 16_384,
          local_gb: 100,
        },
        last_error: null,
        inspect_interface: 'agent',
      });
      expect(Date.parse(String(node['inspection_finished_at']))).toBeGreaterThanOrEqual(
        Date.parse(String(node['inspection_started_at'])),
      );
      expect(await portsOf(name)).toMatchObject([
        {
          address: mac,
          local_link_connection: { switch_id: switchPort.switchId, port_id: portId, switch_info: 'leaf-7' },
        },
      ]);
      expect(await inventoryOf(name)).toMatchObject({
        inventory: { hostname: 'simulated', disks: [{ serial: `disk-of-${mac}` }] },
        plugin_data: {
          all_interfaces: { eth0: { mac_address: mac, pxe_enabled: true } },
          parsed_lldp: { eth0: { switch_system_name: 'leaf-7' } },
          ...(inspects ? { boot_interface: mac, configuration: { collectors: ['default', 'logs'] } } : {}),
        },
      });
      // for `baton node record`
      expect('baton_texts' in Object((await inventoryOf(name))['plugin_data'])).toBe(inspects);
      expect(await lastSteps()).toEqual([
        'boot_ramdisk succeeded',
        'collect_inventory succeeded',
        'tear_down_agent succeeded',
        'leave_network succeeded',
      ]);
      expect(machine.state()).toEqual({ power: 'off', runs: 'nothing' });
    } finally {
      await machine.close();
    }
  });
});

test('a machine that can’t be looked at fails the inspection in words; mended, it can be inspected again', async () => {
  await enrol({ inspects: true });
  try {
    machine.faults.noInventory = 'lsblk is out of order';
    await operator.provision(name, 'inspect');
    const node = await operator.waitForState(name, 'inspect failed');
    expect(node['last_error']).toMatch(/collect_inventory.*poll.get_hardware_info.*lsblk is out of order/);
    expect(machine.state().power).toBe('off');

    delete machine.faults.noInventory;
    await operator.provision(name, 'inspect');
    expect(await operator.waitForState(name, 'manageable')).toMatchObject({ last_error: null });
  } finally {
    await machine.close();
  }
});

test('what a ramdisk reported to an inspection before is not taken for this one', async () => {
  await enrol({ inspects: true });
  try {
    machine.faults.bootsNothing = true;
    await operator.provision(name, 'inspect');
    const state = async () => (await operator.node(name))['provision_state'];
    await expect.poll(state).toBe('inspect wait');
    const interfaces = [{ name: 'eth0', mac_address: machine.mac }];
    const report = { inventory: { interfaces }, error: 'no disk answers' };
    expect(await operator.call('POST', '/v1/continue_inspection', report)).toHaveProperty('config.agent_token');
    await operator.provision(name, 'abort');
    await operator.waitForState(name, 'inspect failed');

    delete machine.faults.bootsNothing;
    await operator.provision(name, 'inspect');
    await operator.waitForState(name, 'manageable');
    expect((await inventoryOf(name))['plugin_data']).toMatchObject({ error: null });
  } finally {
    await machine.close();
  }
});

test('Debian’s real CLI inspects and waits', async () => {
  await enrol({ inspects: true, switchPort: { ...switchPort, portId: 'Ethernet1/8' } });
  try {
    const login = ['--os-auth-type', 'none', '--os-endpoint', conductor.url];
    await run('baremetal', [...login, 'node', 'inspect', name, '--wait', '120'], { timeoutMs: 180_000 });
    expect((await inventoryOf(name))['plugin_data']).toMatchObject({
      valid_interfaces: { eth0: { pxe_enabled: true } },
    });
  } finally {
    await machine.close();
  }
});
