import { describe, expect, onTestFinished, test } from 'vitest';
import { portVlans } from '#conductor/model/port-vlans.ts';
import { findSwitchDriver } from '#conductor/networks/switches/index.ts';
import { startTextSwitch } from '#test/simulators/switch/text-switch.ts';
import { textSystems } from '#test/simulators/switch/text-systems.ts';
import { accessTo } from '#test/simulators/switch/under-test.ts';

const systems = textSystems.filter(({ name }) => name === 'nxos' || name === 'ios-xe');

describe.each(systems)('routed ports of $name', (system) => {
  const [routed = '', shut = '', plain = ''] = [1, 2, 3].map(system.port);
  const wanted = [routed, shut, plain].map((portId) => ({ portId, vlans: portVlans(100) }));

  async function startRouted() {
    const simulated = await startTextSwitch(system, [1, 100]);
    simulated.configure(`interface ${routed}`, 'no switchport', 'description rack 7');
    simulated.configure(`interface ${shut}`, 'no switchport', 'shutdown');
    const connection = findSwitchDriver(system.name).connect(accessTo(simulated));
    onTestFinished(async () => {
      await connection.close();
      await simulated.stop();
    });
    const shutdown = (port: string) => simulated.state.running.get(`interface ${port}`)?.get('shutdown');
    return { simulated, connection, shutdown };
  }

  test('are down until they are in no VLAN; others are not touched, nor is one that is down brought up', async () => {
    const { simulated, connection, shutdown } = await startRouted();
    const found = await connection.readPorts([routed, shut, plain]);
    await connection.apply(wanted);
    const commands = simulated.commands;
    const block = commands.slice(commands.indexOf('shutdown') - 2, commands.indexOf('no shutdown') + 3);
    const opens = block.filter((command) => command.startsWith('interface '));
    expect(opens.map((command) => command.split(' ').at(-1))).toEqual([routed, routed, routed]);
    expect(block.filter((command) => !opens.includes(command))).toEqual([
      'description baton-shut rack 7',
      'shutdown',
      'exit',
      'switchport',
      'switchport trunk allowed vlan none',
      'switchport mode trunk',
      'no switchport trunk native vlan',
      'no switchport access vlan',
      'exit',
      'no shutdown',
      'description rack 7',
      'exit',
    ]);
    expect([routed, shut, plain].map(shutdown)).toEqual(['no shutdown', 'shutdown', undefined]);
    expect(await connection.readPorts([routed, shut, plain])).toEqual(wanted);
    expect(connection.describe(wanted, found)).toContain('no shutdown');
  });

  test('do not stay down when the connection is lost amid that', async () => {
    const { simulated, connection, shutdown } = await startRouted();
    await connection.readPorts([routed]);
    const before = simulated.commands.length;
    await connection.apply([{ portId: plain, vlans: portVlans(100) }]);
    const untilInterface = simulated.commands.slice(before).findIndex((command) => command.startsWith('interface'));
    let atCut: string | undefined;
    simulated.faults.cutAt = {
      command: untilInterface + 3,
      done: true,
      kill: async () => {
        atCut = shutdown(routed);
      },
    };
    await expect(connection.apply([{ portId: routed, vlans: portVlans(100) }])).rejects.toMatchObject({
      code: 'unavailable',
    });
    expect(atCut).toBe('shutdown');
    expect(shutdown(routed)).toBe('no shutdown');
  });
});
