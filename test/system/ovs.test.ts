import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isolated, type PortVlans, portVlans } from '#conductor/model/port-vlans.ts';
import type { SwitchConnection } from '#conductor/networks/switch-driver.ts';
import { ovsDriver } from '#conductor/networks/switches/ovs.ts';
import { testSwitchDriver } from '#conductor/networks/switches/switch.contract.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { run, start } from '#shared/process/run.ts';
import { type OpenVswitch, startOpenVswitch } from '#test/support/open-vswitch.ts';

/** Runs against a real Open vSwitch of its own (Debian: openvswitch-switch) in network namespaces of its own; needs root. */

/** Stands between driver and database, and can lose a connection at any request. */
async function startCutter(realPath: string, path: string) {
  const state: { cutAt: { request: number; done: boolean } | undefined } = { cutAt: undefined };
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(realPath);
    const end = () => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', end).on('close', end);
    }
    far.on('data', (chunk) => near.write(chunk));
    near.on('data', (chunk) => {
      if (state.cutAt) state.cutAt.request -= 1;
      const { cutAt } = state;
      if (cutAt?.request === 0) state.cutAt = undefined;
      if (cutAt?.request === 0 && !cutAt.done) end();
      else far.write(chunk);
      // its answer does not arrive
      if (cutAt?.request === 0) far.removeAllListeners('data').once('data', end);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(path, resolve);
  });
  return {
    cutAt: (request: number, done: boolean) => {
      state.cutAt = { request, done };
      return () => {
        const wasCut = state.cutAt === undefined;
        state.cutAt = undefined;
        return wasCut;
      };
    },
    stop: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

testSwitchDriver(
  'Open vSwitch',
  async () => {
    const real = await startOpenVswitch(`ovs-c${process.pid}`);
    const morePorts = Array.from({ length: 45 }, (_, index) => `p${index + 4}`);
    await real.vsctl(
      ...morePorts.flatMap((port) => ['--', 'add-port', 'br0', port, '--', 'set', 'interface', port, 'type=internal']),
    );
    const cutter = await startCutter(`${real.folder}/db.sock`, `${real.folder}/cutter.sock`);
    return {
      driver: ovsDriver,
      access: { endpoint: `unix:${real.folder}/cutter.sock` },
      portIds: ['p1', 'p2', 'p3'],
      morePorts,
      setByHand: async (port, vlan) => {
        await real.vsctl('set', 'port', port, 'vlan_mode=access', `tag=${vlan}`, 'trunks=[]', 'protected=false');
      },
      cutAt: cutter.cutAt,
      deadEndpoint: `unix:${real.folder}/nobody.sock`,
      stop: async () => {
        cutter.stop();
        await real.stop();
      },
    };
  },
  { modes: ['lacp'], pairs: [] },
);

describe('the ovs driver', () => {
  const prefix = `ovs-d${process.pid}`;
  let real: OpenVswitch;
  let connection: SwitchConnection;

  beforeAll(async () => {
    real = await startOpenVswitch(prefix);
    connection = ovsDriver.connect({ endpoint: real.endpoint });
  });
  afterAll(async () => {
    await connection?.close();
    await real?.stop();
  });

  /** Whether node `to` hears a broadcast of node `from`; `tag` sends the frame with that VLAN tag. */
  const hears = async (to: number, from: number, tag?: number): Promise<boolean> => {
    const script = join(import.meta.dirname, 'ethernet-frame.py');
    const listener = start('ip', ['netns', 'exec', `${prefix}-${to}`, 'python3', script, 'listen', `p${to}`]);
    let output = '';
    const ready = new Promise<void>((resolve) => {
      listener.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        if (output.includes('ready')) resolve();
      });
    });
    await ready;
    const sender = ['python3', script, 'send', `p${from}`, ...(tag === undefined ? [] : [String(tag)])];
    await run('ip', ['netns', 'exec', `${prefix}-${from}`, ...sender]);
    listener.stdin.end(); // all is sent: it listens for a moment longer
    await listener.exited;
    return output.includes('heard');
  };
  const connects = (to: number, from: number) => expect.poll(() => hears(to, from)).toBe(true);

  test('really connects nodes of one VLAN and separates those of two', async () => {
    await connection.apply([
      { portId: 'p1', vlans: portVlans(100) },
      { portId: 'p2', vlans: portVlans(100) },
      { portId: 'p3', vlans: portVlans(200) },
    ]);
    await connects(2, 1);
    expect(await hears(3, 1)).toBe(false);
    await connection.apply([{ portId: 'p2', vlans: portVlans(200) }]);
    await connects(2, 3);
    expect(await hears(2, 1)).toBe(false);
  });

  test('really carries a trunk: its untagged VLAN, its tagged ones, and no other', async () => {
    await connection.apply([
      { portId: 'p1', vlans: portVlans(100, [300]) },
      { portId: 'p2', vlans: portVlans(100) },
      { portId: 'p3', vlans: portVlans(undefined, [300, 301]) },
    ]);
    await connects(2, 1);
    await expect.poll(() => hears(3, 1, 300)).toBe(true);
    expect(await hears(3, 1)).toBe(false);
    expect(await hears(2, 1, 300)).toBe(false);
    expect(await hears(1, 3, 301)).toBe(false);
  });

  test('really isolates: from a network, from an uplink, and from another isolated node, tagged or not', async () => {
    await real.vsctl('clear', 'port', 'p3', 'tag', '--', 'clear', 'port', 'p3', 'vlan_mode'); // an uplink: all VLANs
    await connection.apply([
      { portId: 'p1', vlans: isolated },
      { portId: 'p2', vlans: isolated },
    ]);
    expect([await hears(2, 1), await hears(3, 1), await hears(1, 3)]).toEqual([false, false, false]);
    expect([await hears(2, 1, 4095), await hears(2, 1, 100), await hears(3, 1, 100)]).toEqual([false, false, false]);
    await connection.apply([{ portId: 'p2', vlans: portVlans(100) }]);
    expect([await hears(2, 1), await hears(1, 2)]).toEqual([false, false]);
  });

  test.each([
    ["the operator's", false],
    ["Baton's own", true],
  ])('moves a bond, %s: for one link without LACP, as a ramdisk has it, and for two with it', async (_name, isOurs) => {
    const ip = (...args: string[]) => run('ip', ['-n', prefix, ...args]);
    const others = [`${prefix}-4`, `${prefix}-6`];
    for (const name of others) await run('ip', ['netns', 'add', name]);
    try {
      await ip('link', 'add', 'm4', 'type', 'veth', 'peer', 'name', 'p4');
      await ip('link', 'add', 'm5', 'type', 'veth', 'peer', 'name', 'p5');
      for (const name of ['m4', 'm5', 'p5']) await ip('link', 'set', name, 'up');
      const links = ['m4', 'm5'];
      if (isOurs) await real.vsctl('add-port', 'br0', 'm4', '--', 'add-port', 'br0', 'm5');
      else {
        await real.vsctl('add-bond', 'br0', 'bond7', ...links, 'lacp=active');
        const fallback = ['lacp-fallback-ab=true', 'bond-primary=m4', 'lacp-time=fast'];
        await real.vsctl('set', 'port', 'bond7', ...fallback.map((each) => `other_config:${each}`));
      }
      await ip('link', 'set', 'p4', 'netns', `${prefix}-4`);
      await run('ip', ['-n', `${prefix}-4`, 'link', 'set', 'p4', 'up']);
      const bonding = ovsDriver.connect({ endpoint: real.endpoint, bondNumbers: { from: 7, to: 7 } });
      const bond = { number: 7, mode: 'lacp', acrossPair: false } as const;
      const move = (vlans: PortVlans, isBonded: boolean) =>
        isOurs
          ? bonding.apply(links.map((portId) => ({ portId, vlans, bond: isBonded ? bond : undefined })))
          : connection.apply([{ portId: 'bond7', vlans }]);
      const to = (portId: string, vlan: number) => ({ portId, vlans: portVlans(vlan) });
      await move(portVlans(100), false);
      await connection.apply([to('p2', 100), to('p3', 200)]);
      await connects(2, 4);
      expect(await hears(3, 4)).toBe(false);

      await run('ip', ['-n', `${prefix}-4`, 'link', 'set', 'p4', 'netns', prefix]);
      await ip('link', 'set', 'p4', 'up');
      await real.vsctl('add-br', 'br1', '--', 'set', 'bridge', 'br1', 'datapath_type=netdev');
      await real.vsctl('add-bond', 'br1', 'server', 'p4', 'p5', 'lacp=active', 'other_config:lacp-time=fast');
      await real.vsctl('add-port', 'br1', 'p6', '--', 'set', 'interface', 'p6', 'type=internal');
      await ip('link', 'set', 'p6', 'netns', `${prefix}-6`);
      await run('ip', ['-n', `${prefix}-6`, 'link', 'set', 'p6', 'up']);
      const lacp = async () =>
        (await run('ovs-appctl', ['-t', `${real.folder}/vswitchd.ctl`, 'lacp/show', 'bond7'])).stdout;
      await move(portVlans(100), true);
      await expect.poll(lacp).toContain('status: active negotiated');
      await connects(2, 6);
      await move(portVlans(200), true);
      await connects(3, 6);
      expect(await hears(2, 6)).toBe(false);
      await move(isolated, false);
      expect(await hears(3, 6)).toBe(false);
      const left = isOurs ? links : ['bond7'];
      expect(await bonding.readPorts(left)).toEqual(left.map((portId) => ({ portId, vlans: isolated })));
      await bonding.close();
    } finally {
      for (const each of ['br1', 'br0 bond7', 'br0 m4', 'br0 m5']) {
        const what = each.includes(' ') ? 'del-port' : 'del-br';
        await real.vsctl('--if-exists', what, ...each.split(' '));
      }
      for (const link of ['m4', 'm5']) await ip('link', 'delete', link);
      for (const name of others) await run('ip', ['netns', 'delete', name]);
    }
  });

  test('clears what isolation set, and keeps the operator’s protected', async () => {
    await connection.apply([{ portId: 'p1', vlans: portVlans(5) }]);
    expect(await real.column('p1', 'protected')).toBe('false');
    expect(await real.column('p1', 'trunks')).toBe('[]');
    await real.vsctl('set', 'port', 'p1', 'protected=true', 'external_ids:rack=7');
    await connection.apply([{ portId: 'p1', vlans: isolated }]);
    await connection.apply([{ portId: 'p1', vlans: isolated }]);
    await connection.apply([{ portId: 'p1', vlans: portVlans(6) }]);
    expect(await real.column('p1', 'protected')).toBe('true');
    expect(await real.column('p1', 'external_ids')).toBe('{rack="7"}');
    expect(await real.column('p1', 'vlan_mode')).toBe('access');
    expect(await real.column('p1', 'tag')).toBe('6');
    await real.vsctl('set', 'port', 'p1', 'protected=false');
  });

  test.each([
    ['a tag without a mode', ['tag=7'], portVlans(7)],
    ['access without a tag', ['vlan_mode=access'], 'other'],
    ['a trunk', ['vlan_mode=trunk', 'trunks=100,200'], portVlans(undefined, [100, 200])],
    ['a trunk of all VLANs', ['vlan_mode=trunk'], 'other'],
    ['native-untagged', ['vlan_mode=native-untagged', 'tag=9', 'trunks=100'], portVlans(9, [100])],
    ['native-untagged of all VLANs', ['vlan_mode=native-untagged', 'tag=9'], 'other'],
    ['native-tagged', ['vlan_mode=native-tagged', 'tag=9', 'trunks=100'], 'other'],
    ['a trunk of 4095 that is not protected', ['vlan_mode=trunk', 'trunks=4095'], 'other'],
  ])('reads %s', async (_name, columns, vlans) => {
    await real.vsctl('clear', 'port', 'p3', 'tag', 'trunks', 'vlan_mode');
    await real.vsctl('set', 'port', 'p3', ...columns);
    expect(await connection.readPorts(['p3'])).toEqual([{ portId: 'p3', vlans }]);
  });

  test('works over TCP', async () => {
    // the server listens in its namespace, where this process is not: the client must say so, not hang
    const outside = ovsDriver.connect({ endpoint: real.tcpEndpoint });
    await expect(outside.readPorts(['p1'])).rejects.toMatchObject({ code: 'unavailable' });
    await outside.close();
    const script = `
      import { ovsDriver } from '#conductor/networks/switches/ovs.ts';
      const connection = ovsDriver.connect({ endpoint: '${real.tcpEndpoint}' });
      await connection.apply([{ portId: 'p1', vlans: { untagged: 77, tagged: [] } }]);
      console.log(JSON.stringify(await connection.readPorts(['p1'])));
      await connection.close();`;
    const inside = ['netns', 'exec', prefix, process.execPath, '--input-type=module-typescript', '--eval', script];
    const result = await run('ip', inside, { cwd: join(import.meta.dirname, '../..') });
    expect(JSON.parse(result.stdout)).toEqual([{ portId: 'p1', vlans: { untagged: 77, tagged: [] } }]);
  });

  test('does not call a change done that ovs-vswitchd has not taken over, and recovers', async () => {
    await connection.apply([{ portId: 'p1', vlans: portVlans(10) }]);
    await real.stopDaemon();
    const change = connection.apply([{ portId: 'p1', vlans: portVlans(20) }]);
    const failure = await change.catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(AppError);
    expect(failure).toMatchObject({ code: 'timeout', message: expect.stringContaining('ovs-vswitchd') });
    // the database says 20 by now, which must not pass for the port's standing
    await expect(connection.readPorts(['p1'], AbortSignal.timeout(1000))).rejects.toMatchObject({ code: 'aborted' });
    await real.startDaemon();
    expect(await connection.readPorts(['p1'])).toEqual([{ portId: 'p1', vlans: portVlans(20) }]);
  });
});
