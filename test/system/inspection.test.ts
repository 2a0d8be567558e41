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

describe('by the BMC', () => {
  const byBmc = async (value = 'redfish') =>
    operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/inspect_interface', value }]);
  const inspect = async (): Promise<Record<string, unknown>> => {
    await operator.provision(name, 'inspect');
    return operator.waitForState(name, 'manageable');
  };
  const disksOf = async () => {
    const { disks } = (await inventoryOf(name))['inventory'] as { disks: { name: string }[] };
    return disks.map((disk) => disk.name);
  };

  test('a machine that runs is left alone; its properties and a port are filled in, rules and ramdisk do the rest', async () => {
    const mac = await enrol({ inspects: true });
    try {
      const [port] = (await portsOf(name)) as { uuid: string }[];
      await operator.call('DELETE', `/v1/ports/${port?.uuid}`);
      await operator.call('POST', '/v1/inspection_rules', {
        description: 'by the BMC',
        conditions: [{ op: 'contains', args: ['{inventory[disks][0][name]}', 'Disk.Bay'] }],
        actions: [{ op: 'set-attribute', args: { path: '/extra/drives', value: 'in bays' } }],
      });
      await byBmc();
      await operator.call('PUT', `/v1/nodes/${name}/states/power`, { target: 'power on' });
      await expect.poll(async () => (await operator.node(name))['power_state']).toBe('power on');
      expect(await inspect()).toMatchObject({
        properties: { cpu_arch: 'x86_64', cpus: 8, memory_mb: 16_384, local_gb: 480 },
        extra: { drives: 'in bays' },
        last_error: null,
        power_state: 'power on',
      });
      expect(await lastSteps()).toEqual(['read_machine succeeded']);
      expect(machine.bmc.counters.powerChanges).toBe(1);
      expect(await portsOf(name)).toMatchObject([{ address: mac, pxe_enabled: true }]);
      expect(await disksOf()).toHaveLength(6);
      expect(await inventoryOf(name)).toMatchObject({
        inventory: { interfaces: [{ name: 'NIC.1', mac_address: mac }], system_vendor: { serial_number: 'SIM-1' } },
        plugin_data: { valid_interfaces: { 'NIC.1': { mac_address: mac } } },
      });

      await byBmc('agent');
      expect(await inspect()).toMatchObject({ properties: { local_gb: 100 } });
      expect(await disksOf()).toEqual(['/dev/sda']);

      await byBmc();
      machine.bmc.inject({ path: /EthernetInterfaces$/, status: 500, times: 99 });
      expect(await inspect()).toMatchObject({ properties: { local_gb: 100 }, last_error: null });
      expect(await disksOf()).toEqual(['/dev/sda']);
      expect(await portsOf(name)).toMatchObject([{ address: mac }]);
      const { history } = await operator.call('GET', `/v1/nodes/${name}/history?detail=true`);
      const [entry] = (history as { event_type: string; event: string }[])
        .filter(({ event_type: type }) => type === 'inspection')
        .slice(-1);
      expect(entry?.event).toMatch(/inspected by its BMC.*interfaces: .*EthernetInterfaces/);
    } finally {
      await machine.close();
    }
  });

  test('a BMC that shows nothing fails it in words, and powers nothing off', async () => {
    await enrol();
    try {
      await byBmc();
      machine.bmc.inject({ path: /\/(Processors|EthernetInterfaces|Storage)$/, status: 500, times: 99 });
      machine.bmc.inject({ path: /^\/redfish\/v1\/Systems\/1$/, body: { '@odata.id': '/x', Name: 'x' }, times: 99 });
      await operator.provision(name, 'inspect');
      const node = await operator.waitForState(name, 'inspect failed');
      expect(node['last_error']).toContain('the BMC shows nothing of the machine');
      expect(await lastSteps()).toEqual(['read_machine failed']);
    } finally {
      await machine.close();
    }
  });
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
