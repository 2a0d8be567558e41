import { expect, test } from 'vitest';
import { z } from 'zod';
import { type FoundVlans, isIsolated, vlanList, vlansIn } from '#conductor/model/port-vlans.ts';
import { askedBesides } from '#conductor/networks/switches/command-line/record-switch.ts';
import { vlansInUse } from '#conductor/networks/switches/command-line/vlans-in-use.ts';
import { readBy, systems } from '#conductor/networks/switches/os/testing/read-recording.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';

/** Each system's own parser reads what its switches print. */

const Vlans = z.union([
  z.literal('isolated'),
  z.literal('other'),
  z.number(),
  z.strictObject({ native: z.number().optional(), tagged: z.union([z.string(), z.number()]) }),
]);
const Reading = z.strictObject({
  ports: z.record(z.string(), Vlans),
  bonds: z
    .record(z.string(), z.strictObject({ mode: z.string(), pair: z.boolean(), members: z.array(z.string()) }))
    .optional(),
  vlans: z.union([z.string(), z.number()]).optional(),
  in_use: z.union([z.string(), z.number()]).optional(),
});

const recordings = await readRecordings('switches', Reading);

function saidOf(vlans: FoundVlans | undefined): z.infer<typeof Vlans> | undefined {
  if (vlans === undefined || vlans === 'other') return vlans;
  if (isIsolated(vlans)) return 'isolated';
  if (vlans.tagged.length === 0 && vlans.untagged !== undefined) return vlans.untagged;
  return { ...(vlans.untagged === undefined ? {} : { native: vlans.untagged }), tagged: vlanList(vlans.tagged) };
}

const asText = (reading: z.infer<typeof Vlans>) =>
  typeof reading === 'object' ? { ...reading, tagged: String(reading.tagged) } : reading;

test.each(recordings.map((each) => [each.name, each.shows, each] as const))('%s: %s', (_, __, recording) => {
  const { ports, bonds, vlans, in_use: inUse } = recording.reading;
  const { snapshot, members, isPort } = readBy(recording);
  const found = Object.keys(ports).map((portId) => [portId, saidOf(snapshot.ports.get(portId))]);
  expect(found).toEqual(Object.entries(ports).map(([portId, reading]) => [portId, asText(reading)]));
  for (const [name, { mode, pair, members: names }] of Object.entries(bonds ?? {})) {
    const its = [...members].filter(([, bond]) => bond.name === name && bond.mode === mode && bond.acrossPair === pair);
    expect([name, its.map(([portId]) => portId).sort()]).toEqual([name, names.toSorted()]);
  }
  expect(vlans === undefined ? undefined : snapshot.vlans).toEqual(
    vlans === undefined ? undefined : new Set(vlansIn(String(vlans))),
  );
  if (inUse === undefined) return;
  // VLANs that Baton would not remove; `unknown` = it would remove none
  const used = vlansInUse({ ...snapshot, members, isPort, uplinks: { patterns: [], count: false } }, [], []);
  expect(used === 'unknown' ? used : vlanList([...used])).toBe(String(inUse));
});

test('what `baton network record` asks besides may stay in a recording', () => {
  const [recording] = recordings.filter(({ name }) => name.startsWith('nxos/'));
  if (!recording) throw new Error('there is no recording of nxos');
  const more = Object.fromEntries((askedBesides['nxos'] ?? []).map((command) => [command, 'NX-OS']));
  expect(Object.keys(more)).toContain('show version');
  const outputs = { ...recording.outputs, ...more };
  expect(readBy({ ...recording, outputs }).snapshot.ports).toEqual(readBy(recording).snapshot.ports);
  expect(() => readBy({ ...recording, outputs: { ...outputs, 'show clock': '' } })).toThrow(
    'no driver runs show clock',
  );
});

test('each system has recordings that show different things', () => {
  const of = Map.groupBy(recordings, ({ name }) => name.split('/')[0]);
  expect(new Set(of.keys())).toEqual(new Set([...systems.map(({ name }) => name), 'ovs']));
  expect(recordings.length).toBeGreaterThanOrEqual(60);
  expect(new Set(recordings.map(({ shows }) => shows)).size).toBe(recordings.length);
});
