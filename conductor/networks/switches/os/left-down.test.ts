import { describe, expect, onTestFinished, test } from 'vitest';
import { isolated, portVlans } from '#conductor/model/port-vlans.ts';
import { planSwitchports } from '#conductor/networks/plan-switchports.ts';
import { findSwitchDriver } from '#conductor/networks/switches/index.ts';
import { startTextSwitch } from '#test/simulators/switch/text-switch.ts';
import { textSystems } from '#test/simulators/switch/text-systems.ts';
import { accessTo } from '#test/simulators/switch/under-test.ts';

/** Ports that a change takes down, so that they pass through no VLAN; and a conductor that is lost meanwhile. */

describe.each(textSystems)('a port that $name takes down amid a change', (system) => {
  const routed = [system.name === 'aos-cx' ? 'routing' : 'no switchport'];
  const [port = '', byOperator = ''] = [1, 2].map(system.port);

  async function start() {
    const simulated = await startTextSwitch(system, [1, 100]);
    const section = (name: string) => `interface ${name}`;
    for (const name of [port, byOperator]) simulated.configure(section(name), ...routed);
    simulated.configure(section(port), 'description rack 7');
    simulated.configure(section(byOperator), 'shutdown');
    const connection = findSwitchDriver(system.name).connect(accessTo(simulated));
    onTestFinished(async () => {
      await connection.close();
      await simulated.stop();
    });
    const linesOf = (name: string) => simulated.state.running.get(section(name));
    return { simulated, connection, linesOf };
  }

  test('is up again at the end, and has its description, whichever conductor was lost amid that', async () => {
    const { simulated, connection, linesOf } = await start();
    const toVlan100 = [{ portId: port, vlans: portVlans(100) }];
    const route = () => simulated.configure(`interface ${port}`, ...routed);
    await connection.readPorts([port]);
    const before = simulated.commands.length;
    await connection.apply(toVlan100);
    const commands = simulated.commands.slice(before);
    // the note, the port down, in VLANs, up
    const cuts = [commands.indexOf('shutdown') - 1, commands.indexOf('shutdown'), commands.indexOf('no shutdown') - 2];
    for (const [index, cut] of [...cuts, commands.indexOf('no shutdown')].entries()) {
      route();
      const lost = findSwitchDriver(system.name).connect(accessTo(simulated));
      await lost.readPorts([port]);
      // as the conductor dies with it, nobody puts anything back
      const kill = async () => void (simulated.faults.maximumLogins = 0);
      simulated.faults.cutAt = { command: cut + 1, done: true, kill };
      await expect(lost.apply(toVlan100)).rejects.toMatchObject({ retryable: true });
      simulated.faults.maximumLogins = 5;
      await lost.close();
      expect([index, linesOf(port)?.get('description')]).toEqual([index, 'description baton-shut rack 7']);
      const wanted = { portId: port, vlans: index % 2 ? portVlans(100) : isolated };
      await connection.apply(planSwitchports([wanted], await connection.readPorts([port])));
      expect(await connection.readPorts([port])).toMatchObject([wanted]);
      expect(linesOf(port)?.get('shutdown') ?? 'no shutdown').toBe('no shutdown');
      expect(linesOf(port)?.get('description')).toBe('description rack 7');
    }
  });

  test('is down while it would be in VLAN 1', async () => {
    const { connection } = await start();
    const found = await connection.readPorts([port]);
    const lines = connection.describe([{ portId: port, vlans: portVlans(100, [300]) }], found);
    const joins = lines.findIndex((line) => ['switchport', 'switchport mode trunk', 'no routing'].includes(line));
    expect(joins).toBeGreaterThan(lines.indexOf('shutdown'));
    // in the VLANs that were asked for, or in none
    const isSafe = (line: string) => /trunk allowed vlan none|trunk allowed (vlan )?.*300/.test(line);
    expect(lines.findIndex(isSafe)).toBeGreaterThan(joins);
    expect(lines.findIndex(isSafe)).toBeLessThan(lines.indexOf('no shutdown'));
  });

  test('stays down where its operator has shut it', async () => {
    const { connection, linesOf } = await start();
    await connection.apply([{ portId: byOperator, vlans: portVlans(100) }]);
    await connection.apply([{ portId: byOperator, vlans: isolated }]);
    expect(linesOf(byOperator)?.get('shutdown')).toBe('shutdown');
  });

  test('is opened by the next conductor, too, where its description leaves no room for the note', async () => {
    const { simulated, connection, linesOf } = await start();
    const longest = { 'aos-cx': 64, os10: 240, nxos: 254, 'ios-xe': 200 }[system.name] ?? 0;
    const described = `description ${'x'.repeat(longest)}`;
    simulated.configure(`interface ${port}`, described);
    const move = [{ portId: port, vlans: portVlans(100) }];
    await connection.apply(move);
    expect(linesOf(port)?.get('description')).toBe(described);
    simulated.configure(`interface ${port}`, ...routed);
    const before = simulated.commands.length;
    await connection.apply(move);
    const down = simulated.commands.slice(before).indexOf('shutdown') + 1;
    simulated.configure(`interface ${port}`, ...routed);
    // the same conductor puts everything back
    simulated.faults.cutAt = { command: down, done: true };
    await expect(connection.apply(move)).rejects.toMatchObject({ retryable: true });
    expect(linesOf(port)?.get('description')).toBe(described);
    expect(linesOf(port)?.get('shutdown') ?? 'no shutdown').toBe('no shutdown');
    simulated.configure(`interface ${port}`, ...routed);
    const lost = findSwitchDriver(system.name).connect(accessTo(simulated));
    await lost.readPorts([port]);
    const kill = async () => void (simulated.faults.maximumLogins = 0);
    simulated.faults.cutAt = { command: down, done: true, kill };
    await expect(lost.apply(move)).rejects.toMatchObject({ retryable: true });
    simulated.faults.maximumLogins = 5;
    await lost.close();
    expect(linesOf(port)?.get('shutdown')).toBe('shutdown');
    await connection.apply(move);
    expect(await connection.readPorts([port])).toMatchObject(move);
    expect(linesOf(port)?.get('shutdown') ?? 'no shutdown').toBe('no shutdown');
    expect(linesOf(port)?.get('description')).toBe(`description ${'x'.repeat(longest - 'baton-shut '.length)}`);
  });
});

describe.each(textSystems)('a bond of $name', (system) => {
  test('keeps its description, and stays down where its operator has shut it', async () => {
    const simulated = await startTextSwitch(system, [1, 100, 200]);
    const bondNumbers = { from: 101, to: 110 };
    const connection = findSwitchDriver(system.name).connect({ ...accessTo(simulated), bondNumbers });
    onTestFinished(async () => {
      await connection.close();
      await simulated.stop();
    });
    const settings = (vlan: number) =>
      [1, 2].map((number) => ({
        portId: system.port(number),
        vlans: portVlans(vlan),
        bond: { number: 101, mode: 'lacp', acrossPair: false } as const,
      }));
    await connection.apply(settings(100));
    const [section = ''] = [...simulated.state.running.keys()].filter((name) => /^interface .*101/.test(name));
    const linesOf = () => simulated.state.running.get(section);
    const isDown = () => linesOf()?.get('shutdown') === 'shutdown';
    simulated.configure(section, 'description node 7');
    await connection.apply(settings(200));
    expect([linesOf()?.get('description'), isDown()]).toEqual(['description node 7', false]);
    simulated.configure(section, 'shutdown');
    const wanted = settings(100);
    expect(connection.describe(wanted, await connection.readPorts(wanted.map(({ portId }) => portId)))).not.toContain(
      'no shutdown',
    );
    await connection.apply(wanted);
    expect([linesOf()?.get('description'), isDown()]).toEqual(['description node 7', true]);
    expect(await connection.readPorts([system.port(1)])).toMatchObject(wanted.slice(0, 1));
  });
});
