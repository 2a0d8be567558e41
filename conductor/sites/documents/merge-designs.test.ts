import { describe, expect, test } from 'vitest';
import { mergeDesigns } from '#conductor/sites/documents/merge-designs.ts';
import type { NodeDesign } from '#conductor/sites/documents/node-design.ts';
import * as fc from '#test/fuzz/fast-check.ts';

const merged = (child: NodeDesign, parent: NodeDesign) => mergeDesigns(child, mergeDesigns(parent, {}));
const clean = (design: NodeDesign): unknown => JSON.parse(JSON.stringify(design));

describe('as Drydock merges', () => {
  test.each<[string, NodeDesign, NodeDesign, NodeDesign]>([
    ['a value of its own holds', { boot_mode: 'bios' }, { boot_mode: 'uefi' }, { boot_mode: 'bios' }],
    ['none is inherited', {}, { resource_class: 'c' }, { resource_class: 'c' }],
    ['null is none', { resource_class: null }, { resource_class: 'c' }, { resource_class: 'c' }],
    ['! takes away', { resource_class: '!' }, { resource_class: 'c' }, {}],
    [
      'lists unite, the own first',
      { metadata: { tags: ['b', 'a'] } },
      { metadata: { tags: ['c', 'a'] } },
      { metadata: { tags: ['b', 'a', 'c'] } },
    ],
    ['!value takes one away', { traits: ['!B', 'C'] }, { traits: ['A', 'B'] }, { traits: ['C', 'A'] }],
    [
      'mappings unite',
      { metadata: { owner_data: { a: '2', '!c': 'x' } } },
      { metadata: { owner_data: { a: '1', b: '1', c: '1' } } },
      { metadata: { owner_data: { a: '2', b: '1' } } },
    ],
    [
      'fields of oob unite',
      { oob: { address: 'a', credential: '!' } },
      { oob: { type: 'redfish', credential: 'c' } },
      { oob: { address: 'a', type: 'redfish' } },
    ],
    [
      'interfaces unite by name, and their networks',
      { interfaces: { a: { mac: 'm', networks: ['x', '!y'] }, c: null } },
      { interfaces: { a: { pxe: true, networks: ['y'] }, b: { pxe: false }, c: {} } },
      { interfaces: { a: { mac: 'm', pxe: true, networks: ['x'] }, b: { pxe: false } } },
    ],
    [
      'root device hints are replaced, for all of them would have to fit',
      { storage: { root_device: { serial: 's' } } },
      { storage: { root_device: { size: 3 }, raid: { logical_disks: [] } } },
      { storage: { root_device: { serial: 's' }, raid: { logical_disks: [] } } },
    ],
    [
      'another image has another checksum and format',
      { platform: { image: 'http://b' } },
      { platform: { image: 'http://a', checksum: 'c', image_format: 'raw' } },
      { platform: { image: 'http://b' } },
    ],
    [
      'another checksum alone is of the inherited image',
      { platform: { checksum: 'd' } },
      { platform: { image: 'http://a', checksum: 'c' } },
      { platform: { image: 'http://a', checksum: 'd' } },
    ],
    [
      'a config drive’s meta_data unites, the rest is replaced',
      { config_drive: { meta_data: { a: 1 } } },
      { config_drive: { meta_data: { b: 2 }, user_data: 'u' } },
      { config_drive: { meta_data: { a: 1, b: 2 }, user_data: 'u' } },
    ],
  ])('%s', (_, child, parent, result) => {
    expect(clean(merged(child, parent))).toEqual(result);
  });
});

const name = fc.constantFrom('a', 'b', 'c');
const marked = fc.constantFrom('a', 'b', 'c', '!a', '!b');
const maybe = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: undefined });
const designs: fc.Arbitrary<NodeDesign> = fc.record({
  resource_class: maybe(fc.constantFrom('x', 'y', '!', null)),
  oob: maybe(fc.record({ type: fc.constantFrom('redfish', 'ipmi', '!', null), address: maybe(name) })),
  metadata: maybe(fc.record({ tags: maybe(fc.array(marked)), owner_data: maybe(fc.dictionary(marked, name)) })),
  interfaces: maybe(
    fc.dictionary(name, fc.option(fc.record({ pxe: fc.boolean(), networks: maybe(fc.array(marked)) }), { nil: null })),
  ),
  platform: maybe(fc.record({ image: maybe(fc.constantFrom('i', 'j', '!')), checksum: maybe(name) })),
}) as fc.Arbitrary<NodeDesign>;

describe('of any designs', () => {
  test('no mark is left, neither ! nor null', () => {
    fc.assert(
      fc.property(designs, designs, (child, parent) => {
        expect(JSON.stringify(merged(child, parent))).not.toMatch(/!|null/);
      }),
    );
  });

  test('nothing said means what is beneath, and nothing is copied or changed in it', () => {
    fc.assert(
      fc.property(designs, designs, (child, given) => {
        const parent = mergeDesigns(given, {});
        const before = JSON.stringify(parent);
        expect(clean(mergeDesigns({}, parent))).toEqual(clean(parent));
        mergeDesigns(child, parent);
        expect(JSON.stringify(parent)).toBe(before);
      }),
    );
  });

  test('once more beneath what it stands on changes nothing, but the order of lists', () => {
    const sorted = (design: NodeDesign): unknown =>
      JSON.parse(JSON.stringify(design), (_, value: unknown) =>
        Array.isArray(value) ? value.map(String).toSorted((a, b) => a.localeCompare(b)) : value,
      );
    fc.assert(
      fc.property(designs, (given) => {
        const parent = mergeDesigns(given, {});
        expect(sorted(mergeDesigns(parent, parent))).toEqual(sorted(parent));
      }),
    );
  });
});
