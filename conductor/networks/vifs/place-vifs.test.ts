import { describe, expect, test } from 'vitest';
import { portVlans } from '#conductor/model/port-vlans.ts';
import type { Network } from '#conductor/networks/networks-file.ts';
import { placeVifs, type Vif, type VifPort, withPhysicalNetworks } from '#conductor/networks/vifs/place-vifs.ts';
import { array, assert, boolean, constantFrom, option, property, record, uniqueArray } from '#test/fuzz/fast-check.ts';

const port = (uuid: string, more: Partial<VifPort> = {}): VifPort => ({
  uuid,
  address: `52:54:00:00:00:${uuid}`,
  pxeEnabled: false,
  portgroupUuid: null,
  physicalNetwork: null,
  ...more,
});
const vif = (id: string, more: Partial<Vif> = {}): Vif => ({ id, portUuid: null, portgroupUuid: null, ...more });
const network = (name: string, physicalNetwork?: string): Network => ({ name, vlans: portVlans(100), physicalNetwork });
const networks = [network('a'), network('b'), network('c'), network('left', 'left'), network('right', 'right')];

const placed = (vifs: readonly Vif[], ports: readonly VifPort[]) => {
  const { networks: places, faults } = placeVifs(vifs, ports, networks);
  return { ...Object.fromEntries(places), ...(faults.length > 0 ? { faults } : {}) };
};

describe('placeVifs', () => {
  test('a single one that was asked for nowhere takes all ports', () => {
    expect(placed([vif('a')], [port('1', { pxeEnabled: true }), port('2')])).toEqual({ '1': 'a', '2': 'a' });
    expect(placed([vif('a')], [])).toEqual({});
  });

  test('a single one that was asked for at a port takes this one only', () => {
    expect(placed([vif('a', { portUuid: '2' })], [port('1'), port('2')])).toEqual({ '2': 'a' });
  });

  test('several take a port each, the one that boots from the network last', () => {
    const ports = [port('1', { pxeEnabled: true }), port('2'), port('3')];
    expect(placed([vif('a'), vif('b')], ports)).toEqual({ '2': 'a', '3': 'b' });
    expect(placed([vif('a'), vif('b'), vif('c')], ports)).toEqual({ '2': 'a', '3': 'b', '1': 'c' });
  });

  test('groups come before ports, and take all their members', () => {
    const ports = [port('1'), port('2', { portgroupUuid: 'g' }), port('3', { portgroupUuid: 'g' })];
    expect(placed([vif('a'), vif('b')], ports)).toEqual({ '2': 'a', '3': 'a', '1': 'b' });
    expect(placed([vif('a'), vif('b', { portgroupUuid: 'g' })], ports)).toEqual({ '2': 'b', '3': 'b', '1': 'a' });
  });

  test('a member that is asked for by name dissolves its group', () => {
    const ports = [port('1', { portgroupUuid: 'g' }), port('2', { portgroupUuid: 'g' })];
    expect(placed([vif('a'), vif('b', { portUuid: '1' })], ports)).toEqual({ '1': 'b', '2': 'a' });
  });

  test('each goes to its physical network, else to ports that name none', () => {
    const ports = [port('1'), port('2', { physicalNetwork: 'right' }), port('3', { physicalNetwork: 'left' })];
    expect(placed([vif('left'), vif('right')], ports)).toEqual({ '3': 'left', '2': 'right' });
    expect(placed([vif('left'), vif('a')], [port('1'), port('2', { physicalNetwork: 'right' })])).toEqual({
      '1': 'left',
      '2': 'a',
    });
  });

  test("a group's physical network is that of its members that name none", () => {
    const ports = [port('1'), port('2', { portgroupUuid: 'g' }), port('3', { portgroupUuid: 'g' })];
    const places = (physicalNetwork: string | null) =>
      placed([vif('left'), vif('a')], withPhysicalNetworks(ports, [{ uuid: 'g', physicalNetwork }]));
    expect(places('left')).toEqual({ '2': 'left', '3': 'left', '1': 'a' });
    expect(places('right')).toEqual({ '1': 'left', '2': 'a', '3': 'a' });
    expect(withPhysicalNetworks([port('1', { physicalNetwork: 'right', portgroupUuid: 'g' })], [])).toMatchObject([
      { physicalNetwork: 'right' },
    ]);
  });

  test('one that spans several physical networks goes to a port of any', () => {
    const spanning = [{ name: 'wide', physicalNetwork: ['left', 'right'] }, ...networks];
    const ports = [port('1', { physicalNetwork: 'other' }), port('2', { physicalNetwork: 'right' }), port('3')];
    const place = (vifs: readonly Vif[]) => Object.fromEntries(placeVifs(vifs, ports, spanning, 'takes one').networks);
    expect(place([vif('wide')])).toEqual({ '2': 'wide' });
    expect(place([vif('right'), vif('wide')])).toEqual({ '2': 'right', '3': 'wide' });
  });

  test('one of no physical network leaves those ports that name one to others', () => {
    const ports = [port('1', { pxeEnabled: true }), port('2', { physicalNetwork: 'left' })];
    expect(placed([vif('a'), vif('left')], ports)).toEqual({ '1': 'a', '2': 'left' });
  });

  test('those without a place are named', () => {
    const ports = [port('1'), port('2', { physicalNetwork: 'right' })];
    expect(placed([vif('a', { portUuid: '9' }), vif('b', { portgroupUuid: 'g' })], ports)).toEqual({
      faults: [
        'VIF a: port 9 is not connected to a switch, or has another VIF',
        'VIF b: port group g has no port that is connected to a switch, or has another VIF',
      ],
    });
    expect(placed([vif('a', { portUuid: '1' }), vif('left')], ports)).toEqual({
      '1': 'a',
      faults: ['VIF left: not enough free physical ports, on its physical network if it has one'],
    });
  });

  const name = constantFrom('a', 'b', 'c', 'left', 'right');
  const places = constantFrom<Partial<Vif>>({}, {}, { portUuid: '1' }, { portUuid: '2' }, { portgroupUuid: 'g' });
  const anyVifs = uniqueArray(record({ name, places }), { selector: (each) => each.name, maxLength: 4 });
  const anyPorts = array(
    record({
      pxeEnabled: boolean(),
      portgroupUuid: option(constantFrom('g', 'h')),
      physicalNetwork: option(constantFrom('left', 'right')),
    }),
    { maxLength: 6 },
  );

  test('each has one port, one whole group, or a fault; no port has two, and no other physical network', () => {
    assert(
      property(anyVifs, anyPorts, (given, shapes) => {
        const vifs = given.map((each) => vif(each.name, each.places));
        const ports = shapes.map((shape, index) => port(String(index), shape));
        const { networks: found, faults } = placeVifs(vifs, ports, networks);
        const takesAll = vifs.length === 1 && vifs[0]?.portUuid === null && vifs[0].portgroupUuid === null;
        const counts = vifs.map(({ id }) => {
          const own = ports.filter(({ uuid }) => found.get(uuid) === id);
          const inGroup = new Set(own.map(({ portgroupUuid }) => portgroupUuid));
          const isPlug = own.length === 1 || (own.length > 1 && inGroup.size === 1 && !inGroup.has(null));
          const isMisplaced = own.some(
            ({ physicalNetwork: net }) => net !== null && ['left', 'right'].includes(id) && net !== id,
          );
          const isNamed = vifs.some(
            (each) => each.id === id && (each.portUuid !== null || each.portgroupUuid !== null),
          );
          return {
            isRight: takesAll || isPlug || (own.length === 0 && faults.some((fault) => fault.startsWith(`VIF ${id}:`))),
            isFit: takesAll || isNamed || !isMisplaced,
          };
        });
        expect(counts).toEqual(vifs.map(() => ({ isRight: true, isFit: true })));
      }),
    );
  });
});
