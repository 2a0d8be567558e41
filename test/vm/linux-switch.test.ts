import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PortVlans, portVlans } from '#conductor/model/port-vlans.ts';
import type { SwitchBond } from '#conductor/model/switch-bond.ts';
import type { SwitchConnection, SwitchPortSetting } from '#conductor/networks/switch-driver.ts';
import { findSwitchDriver } from '#conductor/networks/switches/index.ts';
import { testSwitchDriver } from '#conductor/networks/switches/switch.contract.ts';
import { type LinuxSwitch, startLinuxSwitch } from '#test/lab/linux-switch/start-switch.ts';
import { split } from '#test/simulators/switch/under-test.ts';
import { freePort } from '#test/support/free-port.ts';

/** The `linux` driver on what it is for: a computer with a bridge and bonds of its own kernel, in QEMU. */

const ports = Array.from({ length: 48 }, (_, index) => `swp${index + 1}`);

async function startRack(rack: number): Promise<LinuxSwitch> {
  const directory = await mkdtemp(join(tmpdir(), 'baton-linux-switch-'));
  const real = await startLinuxSwitch({ directory, sshPort: await freePort(), rack });
  return {
    ...real,
    stop: async () => {
      await real.stop();
      await rm(directory, { recursive: true });
    },
  };
}

testSwitchDriver(
  'linux in QEMU',
  async () => {
    const real = await startRack(ports.length);
    return {
      driver: findSwitchDriver('linux'),
      access: real.access,
      ...split(ports),
      setByHand: async (port, vlan) => {
        await real.shell(
          `bridge vlan del dev ${port} vid 1-4094; bridge vlan add dev ${port} vid ${vlan} pvid untagged`,
        );
      },
      deadEndpoint: 'ssh:127.0.0.1:1',
      stop: () => real.stop(),
    };
  },
  { modes: ['lacp', 'static'], pairs: [] },
);

describe('machines at a Linux switch', () => {
  let real: LinuxSwitch;
  let connection: SwitchConnection;
  beforeAll(async () => {
    real = await startRack(4);
    connection = findSwitchDriver('linux').connect({ ...real.access, bondNumbers: { from: 101, to: 110 } });
  });
  afterAll(async () => {
    await connection?.close();
    await real?.stop();
  });

  const bond: SwitchBond = { number: 101, mode: 'lacp', acrossPair: false };
  const bonded = (vlans: PortVlans): SwitchPortSetting[] => ['swp1', 'swp2'].map((portId) => ({ portId, vlans, bond }));
  const access = (portId: string, vlan?: number): SwitchPortSetting => ({ portId, vlans: portVlans(vlan) });
  const portIds = ['swp1', 'swp2', 'swp3', 'swp4'];

  /** One at swp1 and swp2, as the operating system of a node bonds them; single ones at swp3 and swp4. */
  const plugIn = (): Promise<string> =>
    real.shell(`set -e
      for name in pair three four; do ip netns add $name; ip -n $name link set lo up; done
      ip link set nic1 netns pair; ip link set nic2 netns pair; ip link set nic3 netns three; ip link set nic4 netns four
      ip -n pair link add bond0 type bond mode 802.3ad miimon 100 lacp_rate fast
      ip -n pair link set nic1 master bond0; ip -n pair link set nic2 master bond0
      ip -n pair link set bond0 up; ip -n three link set nic3 up; ip -n four link set nic4 up
      ip -n pair addr add 10.0.0.1/24 dev bond0; ip -n three addr add 10.0.0.3/24 dev nic3; ip -n four addr add 10.0.0.4/24 dev nic4
      ip -n pair link add link bond0 name tagged type vlan id 300; ip -n pair link set tagged up
      ip -n pair addr add 10.0.1.1/24 dev tagged; ip -n four addr add 10.0.1.4/24 dev nic4`);
  const pings = (from: string, to: string): Promise<string> =>
    real.shell(`ip netns exec ${from} ping -c 1 -W 1 ${to} >/dev/null && echo yes || echo no`);
  const reaches = (from: string, to: string) => expect.poll(() => pings(from, to)).toBe('yes\n');

  test('a bond by LACP carries its VLANs, and nothing else, also after the switch was without power', async () => {
    await plugIn();
    const settings = [...bonded(portVlans(100, [300])), access('swp3', 100), access('swp4', 300)];
    await connection.apply(settings);
    const prove = async (): Promise<void> => {
      await reaches('pair', '10.0.0.3');
      await reaches('pair', '10.0.1.4');
      // what comes may take the other link, which LACP may still be at work on
      await expect.poll(() => real.shell('cat /sys/class/net/bond101/bonding/ad_num_ports')).toBe('2\n');
      await reaches('four', '10.0.1.1');
      // it could answer, as it does to the pair: what is in between is the switch
      expect(await pings('four', '10.0.0.3')).toBe('no\n');
    };
    await prove();
    await real.reboot();
    expect(await connection.readPorts(portIds)).toEqual(settings);
    await plugIn();
    await prove();
  });

  test('isolated ones hear nobody, and what was a bond is single ports', async () => {
    await connection.apply([access('swp1'), access('swp2', 300), access('swp3'), access('swp4')]);
    expect(await connection.readPorts(portIds)).toEqual([
      access('swp1'),
      access('swp2', 300),
      access('swp3'),
      access('swp4'),
    ]);
    expect(await real.shell('cat /var/lib/baton/ports.sh')).not.toContain('bond101');
    expect(await pings('four', '10.0.0.3')).toBe('no\n');
    await connection.apply([access('swp3', 200), access('swp4', 200)]);
    await reaches('four', '10.0.0.3');
  });

  test('a port that the bond refuses goes back into the bridge, with its VLAN', async () => {
    const before = [...bonded(portVlans(100)), access('over', 300)];
    await connection.apply(before.slice(0, 2));
    // of the bond itself
    await real.shell('ip link add link bond101 name over type vlan id 7; ip link set over master br0 up');
    await connection.apply([access('over', 300)]);
    const all = before.map(({ portId }) => ({ portId, vlans: portVlans(200), bond }));
    await expect(connection.apply(all)).rejects.toMatchObject({ code: 'switch_error' });
    expect(await connection.readPorts(['swp1', 'swp2', 'over'])).toEqual(before);
    expect(await real.shell('ip -o link show dev over up')).toContain('master br0');
  });
});
