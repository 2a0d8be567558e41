import { expect, test } from 'vitest';
import type { ImageAnswer } from '#conductor/api/images.ts';
import type { Html } from '#conductor/board/render/html.ts';
import {
  type ListedAllocation,
  renderAllocations,
  renderConductors,
  renderImages,
  renderSettings,
} from '#conductor/board/render/render-lists.ts';

const now = new Date('2026-01-01T00:10:00Z');
const hostile = '"><script>';
const allocation = (changes: Partial<ListedAllocation>): ListedAllocation => ({
  uuid: 'a1',
  name: 'web',
  state: 'active',
  resource_class: 'gold',
  traits: [],
  node_uuid: 'u1',
  owner: null,
  last_error: null,
  waiting_for: null,
  wait_until: null,
  created_at: '2026-01-01T00:00:00Z',
  ...changes,
});
const context = { now, nameOf: () => 'n1', mayChange: true };
const linesOf = (html: Html) =>
  String(html)
    .split('</tr>')
    .slice(1, -1)
    .map((row) =>
      row
        .replaceAll(/<[^>]*>/g, ' ')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    );

test('allocations that failed or wait come first, with why and until when', () => {
  const waiting = {
    state: 'allocating',
    node_uuid: null,
    waiting_for: 'a gold node',
    wait_until: '2026-01-01T00:11:00Z',
  };
  const all = [
    allocation({ name: 'has one' }),
    allocation({ name: 'waits', ...waiting }),
    allocation({ name: 'failed', state: 'error', node_uuid: null, last_error: 'none fits' }),
  ];
  expect(linesOf(renderAllocations(all, context))).toEqual([
    '✖ error failed gold 10 m 00 s none fits Release…',
    '… allocating waits gold 10 m 00 s waits for a gold node , gives up in 1 m 00 s Release…',
    '✓ active has one gold n1 10 m 00 s Release…',
  ]);
  expect(String(renderAllocations(all, { ...context, mayChange: false }))).not.toContain('Release');
});

test('silent conductors come first', () => {
  const known = { conductor_group: '', drivers: ['redfish'], created_at: '2026-01-01T00:00:00Z', updated_at: null };
  const both = [
    { ...known, hostname: 'a', alive: true },
    { ...known, hostname: 'b', alive: false },
  ];
  const [first, second] = linesOf(renderConductors(both, { now, work: new Map([['a', 3]]) }));
  expect([first, second]).toEqual([
    '✖ silent b 0 never 10 m 00 s ago redfish',
    '● alive a 3 never 10 m 00 s ago redfish',
  ]);
});

test('settings that somebody has set come first', () => {
  const setting = { value: '1', default: '0', meaning: 'm' };
  const settings = [
    { ...setting, name: 'A', from: 'default' as const },
    { ...setting, name: 'B', from: 'environment' as const },
  ];
  expect(linesOf(renderSettings({ conductor: 'c', settings }))).toEqual(['B 1 environment m', 'A 1 default m']);
});

test('what people and machines say stays text', () => {
  const foreign = { uuid: hostile, name: hostile, state: hostile, resource_class: hostile, node_uuid: hostile };
  const said = { owner: hostile, last_error: hostile, created_at: '2026-01-01T00:00:00Z', traits: [hostile] };
  const html = [
    renderAllocations([allocation({ ...foreign, ...said })], { ...context, nameOf: () => hostile }),
    renderConductors(
      [
        {
          hostname: hostile,
          conductor_group: hostile,
          alive: true,
          drivers: [hostile],
          created_at: '2026-01-01T00:00:00Z',
          updated_at: hostile,
        },
      ],
      { now, work: new Map() },
    ),
    renderSettings({
      conductor: hostile,
      settings: [{ name: hostile, value: hostile, default: '', from: 'environment', meaning: hostile }],
    }),
  ].join('');
  expect(html).not.toContain('<script');
});

test('images by who uses them, and a way to remove those that nothing uses', () => {
  const image = {
    name: 'debian',
    checksum: 'sha256:ab',
    size: 2_000_000_000,
    chunks: 9000,
    added_at: '2025-12-30T00:10:00Z',
    users: [] as ImageAnswer['users'],
  };
  const users = Array.from({ length: 7 }, (_, index) => ({
    kind: 'node' as const,
    id: `u${index}`,
    name: `n${index}`,
  }));
  const list = [
    { ...image, name: 'spare' },
    { ...image, users: [{ kind: 'site_revision' as const, id: '4', name: hostile }, ...users] },
    { ...image, name: hostile, size: null },
  ];
  const html = renderImages(list, { now, mayChange: true });
  expect(linesOf(html)).toEqual([
    '● used debian 2.0 GB 2 d site revision 4 , node n0 , node n1 , node n2 , node n3 , and 3 more',
    '○ unused spare 2.0 GB 2 d Remove…',
    expect.stringContaining('✖ damaged') as unknown,
  ]);
  expect(String(html)).not.toContain('<script');
  expect(String(renderImages(list, { now, mayChange: false }))).not.toContain('<button');
  expect(String(renderImages([], { now, mayChange: true }))).toContain('baton image add');
});
