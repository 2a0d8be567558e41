import { describe, expect, test } from 'vitest';
import {
  bonded,
  group,
  neutronWorld,
  nodeUuid,
  port,
  tenant,
  twoPorts,
} from '#conductor/networks/neutron/testing/neutron-world.ts';
import type { Destination } from '#conductor/networks/vifs/network-port.ts';
import { AppError } from '#shared/errors/app-error.ts';

const world = neutronWorld();

describe('the ramdisk’s networks', () => {
  test('a port for each that boots from the network, bound as Ironic binds it, and ACTIVE', async () => {
    const placements = await world.go({ purpose: 'provisioning' });
    expect(placements.map((each) => [each.port.uuid, each.network])).toEqual([
      ['port-1', 'provision-net'],
      ['port-2', null],
    ]);
    expect(world.allPorts()).toEqual([
      expect.objectContaining({
        mac_address: '52:54:00:00:00:01',
        device_id: nodeUuid,
        device_owner: 'baremetal:none',
        status: 'ACTIVE',
        'binding:host_id': nodeUuid,
        'binding:vnic_type': 'baremetal',
        'binding:profile': {
          local_link_information: [{ switch_id: 'leaf1', port_id: 'Ethernet1', switch_info: 'leaf1' }],
        },
      }),
    ]);
  });

  test('again is nothing; the next network takes the place of the last; isolated is none', async () => {
    await world.go({ purpose: 'provisioning' });
    const [first] = world.allPorts();
    await world.go({ purpose: 'provisioning' });
    expect(world.allPorts().map(({ id }) => id)).toEqual([first?.id]);
    await world.go({ purpose: 'cleaning' });
    expect(world.inNetwork('provision-net')).toEqual([]);
    expect(world.inNetwork('clean-net')).toEqual(['52:54:00:00:00:01 ACTIVE other']);
    await world.go('isolated');
    expect(world.allPorts()).toEqual([]);
  });

  test('a switch that Neutron has no driver for is told at once, with port and switch, and mended by the next try', async () => {
    world.neutron.state.switches.clear();
    await expect(world.go({ purpose: 'provisioning' })).rejects.toThrow(
      /Neutron failed to bind port \S+ of Neutron to 52:54:00:00:00:01 at .*"switch_id":"leaf1".*compare switch_id and port_id/,
    );
    world.neutron.state.switches.add('leaf1');
    await world.go({ purpose: 'provisioning' });
    expect(world.inNetwork('provision-net')).toEqual(['52:54:00:00:00:01 ACTIVE other']);
  });

  test('a port that never comes up is told with its state', async () => {
    world.neutron.state.looks = Number.POSITIVE_INFINITY;
    await expect(world.go({ purpose: 'provisioning' })).rejects.toThrow(/it is DOWN after 2 s, not ACTIVE/);
  });

  test('names of networks that are none, or two', async () => {
    world.neutron.addNetwork('clean-net');
    await expect(world.go({ purpose: 'cleaning' })).rejects.toThrow('Neutron has 2 networks clean-net: give a UUID');
    world.neutron.state.networks.clear();
    await expect(world.go({ purpose: 'cleaning' })).rejects.toThrow('Neutron has no network clean-net');
    expect(world.allPorts()).toEqual([]);
  });

  test('ports without a switch are a fault before anything is made', async () => {
    const ports = [port(1, { localLinkConnection: { switch_id: 'leaf1' } }), port(2)];
    await expect(world.go({ purpose: 'provisioning' }, ports)).rejects.toThrow(
      '52:54:00:00:00:01: local_link_connection lacks port_id',
    );
    expect(world.neutron.requests).toEqual([]);
  });
});

describe('tenants’ networks', () => {
  test('a VIF is a port of Neutron: bound to one of the node’s, with its MAC address, and let go of', async () => {
    const blue = world.neutron.addPort(world.neutron.addNetwork('blue', 'physnet1'), {
      device_id: 'an instance',
      name: 'web',
    });
    const before = blue.mac_address;
    await world.go({ purpose: 'provisioning' });
    const placements = await world.go(tenant(blue.id));
    // the port that boots comes last
    expect(placements.map((each) => each.network)).toEqual([null, blue.id]);
    expect(world.inNetwork('provision-net')).toEqual([]);
    expect(blue).toMatchObject({
      mac_address: '52:54:00:00:00:02',
      device_id: 'an instance',
      name: 'web',
      status: 'ACTIVE',
      'binding:host_id': nodeUuid,
    });
    await world.go('isolated');
    expect(blue).toMatchObject({ status: 'DOWN', 'binding:host_id': '', 'binding:profile': {} });
    expect(blue.mac_address).not.toBe('52:54:00:00:00:02');
    expect(before).not.toBe('52:54:00:00:00:02');
    expect(world.allPorts()).toEqual([blue]);
  });

  test('a VIF that is named as Baton names its own is let go of, and never taken for one', async () => {
    const named = world.neutron.addPort(world.networkId('provision-net'), {
      name: 'baton x',
      device_id: '',
      device_owner: '',
    });
    await world.go(tenant(named.id), [port(1)]);
    await world.go({ purpose: 'provisioning' }, [port(1)]);
    expect(named).toMatchObject({ 'binding:host_id': '', 'binding:vif_type': 'unbound' });
    expect(world.allPorts()).toHaveLength(2);
    await world.go(tenant(named.id), [port(1)]);
    await world.go('isolated', [port(1)]);
    expect(named).toMatchObject({ 'binding:host_id': '', 'binding:vif_type': 'unbound' });
    expect(world.allPorts()).toEqual([named]);
  });

  test('several go to ports of their physical networks; one that finds no place is a fault, and nothing is bound', async () => {
    const ports = [port(1, { physicalNetwork: 'physnet1' }), port(2, { physicalNetwork: 'physnet2' })];
    const one = world.neutron.addPort(world.neutron.addNetwork('one', 'physnet1'));
    const two = world.neutron.addPort(world.neutron.addNetwork('two', 'physnet2'));
    const placements = await world.go(tenant(two.id, one.id), ports);
    expect(placements.map((each) => each.network)).toEqual([one.id, two.id]);
    expect(one['binding:profile']).toMatchObject({ physical_network: 'physnet1' });
    const third = world.neutron.addPort(world.neutron.addNetwork('three', 'physnet3'));
    await world.go('isolated', ports);
    await expect(world.go(tenant(third.id), ports)).rejects.toThrow(`VIF ${third.id}: not enough free physical ports`);
    expect(third['binding:vif_type']).toBe('unbound');
  });

  test('a port group is bound with all its members and its mode', async () => {
    const blue = world.neutron.addPort(world.neutron.addNetwork('blue'));
    await world.go(tenant(blue.id), bonded);
    expect(blue).toMatchObject({
      mac_address: group.address,
      'binding:profile': {
        local_link_information: bonded.map((each) => each.localLinkConnection),
        local_group_information: {
          id: 'g1',
          name: 'bond0',
          bond_mode: '802.3ad',
          bond_properties: { bond_miimon: 100, bond_lacp_rate: 'fast' },
        },
      },
    });
  });

  test('one that its owner has deleted is told, and gone once the node is isolated', async () => {
    const blue = world.neutron.addPort(world.neutron.addNetwork('blue'));
    await world.go(tenant(blue.id));
    world.neutron.state.ports.delete(blue.id);
    await expect(world.go(tenant(blue.id))).rejects.toThrow(`Port ${blue.id} could not be found`);
    await world.go('isolated');
  });

  test('without VIFs no port is bound', async () => {
    await world.go({ purpose: 'provisioning' });
    expect((await world.go({ purpose: 'tenant', vifs: [] })).map((each) => each.network)).toEqual([null, null]);
    expect(world.allPorts()).toEqual([]);
  });
});

test.each(['lost before', 'lost after'])(
  'a conductor that is lost at any request (%s it takes effect): the next one ends it, and nothing is left over',
  async (when) => {
    // the same network for ramdisk and tenant: the address is free again only when all is let go of
    const blue = world.neutron.addPort(world.networkId('provision-net'));
    const moves: Destination[] = [
      { purpose: 'provisioning' },
      tenant(blue.id),
      { purpose: 'cleaning' },
      tenant(blue.id),
      'isolated',
    ];
    let cuts = 0;
    for (const [index, destination] of moves.entries()) {
      for (let request = 1, wasCut = true; wasCut; request += 1) {
        // from where the last move ended
        await world.go(moves[index - 1] ?? 'isolated');
        world.neutron.state.cutAt = { request, done: when === 'lost after' };
        await world.go(destination).catch((error: unknown) => {
          if (!(error instanceof AppError)) throw error;
        });
        wasCut = world.neutron.state.cutAt === undefined;
        world.neutron.state.cutAt = undefined;
        cuts += wasCut ? 1 : 0;
        const next = world.connectTo();
        await world.go(destination, twoPorts, next);
        const own = world.allPorts().filter(({ id }) => id !== blue.id);
        const isTenant = destination !== 'isolated' && 'vifs' in destination;
        expect(own, `move ${index}, request ${request}`).toHaveLength(destination === 'isolated' || isTenant ? 0 : 1);
        expect(blue['binding:host_id'], `move ${index}, request ${request}`).toBe(isTenant ? nodeUuid : '');
      }
    }
    expect(cuts).toBeGreaterThan(20);
  },
);

test('Neutron that is not there is asked again later', async () => {
  const gone = world.connectTo({ url: 'http://127.0.0.1:1' });
  await expect(world.go('isolated', twoPorts, gone)).rejects.toMatchObject({ code: 'unavailable', retryable: true });
});
