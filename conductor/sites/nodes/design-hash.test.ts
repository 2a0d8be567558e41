import { expect, test } from 'vitest';
import { designHash } from '#conductor/sites/nodes/design-hash.ts';
import { siteNode } from '#conductor/sites/nodes/testing/node-cases.ts';

const site = { plugins: [] };
const node = { ...siteNode, instanceInfo: { image_source: 'http://i/a', image_checksum: 'x' } };

test('the order of keys does not count', () => {
  const turned = { ...node, instanceInfo: { image_checksum: 'x', image_source: 'http://i/a' } };
  expect(designHash(site, turned)).toBe(designHash(site, node));
});

test('rack, labels and, without plugins, tags do not count', () => {
  expect(designHash(site, { ...node, rack: 'r9', labels: { a: 'b' }, tags: ['x'] })).toBe(designHash(site, node));
});

test('image, plugins and the roles that they go by do', () => {
  const plugins = { plugins: [{ name: 'ntp', version: '1' }] };
  const hashes = [
    designHash(site, node),
    designHash(site, { ...node, instanceInfo: { image_source: 'http://i/b' } }),
    designHash(plugins, node),
    designHash(plugins, { ...node, tags: ['control'] }),
    designHash({ plugins: [{ name: 'ntp', version: '2' }] }, node),
    designHash({ plugins: [{ name: 'ntp', version: '1', content: 'other' }] }, node),
  ];
  expect(new Set(hashes).size).toBe(hashes.length);
});
