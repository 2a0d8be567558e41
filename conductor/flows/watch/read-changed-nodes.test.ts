import { eq, sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FleetNode } from '#conductor/api/events.ts';
import { type KnownNodes, readNodes } from '#conductor/flows/watch/read-changed-nodes.ts';
import type { Database } from '#conductor/kernel/db/open.ts';
import { rowsOf } from '#conductor/kernel/db/query/statement.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { nodeTpms } from '#conductor/kernel/db/schema/tpm.ts';
import { fleetNodeFields } from '#conductor/model/fleet-node.ts';
import { imageNameOf, rackUnitOf } from '#conductor/model/node-words.ts';
import * as fc from '#test/fuzz/fast-check.ts';
import { openTestDatabase } from '#test/support/test-database.ts';

let database: Database;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

const uuids = Array.from({ length: 6 }, () => crypto.randomUUID());
const blank = { driver: 'fake-hardware', networkInterface: 'noop', provisionState: 'enroll' } as const;

type Step = { readonly act: 'write' | 'remove' | 'write late'; readonly node: number } | { readonly act: 'read' };
const steps = fc.array(
  fc.oneof(
    fc.record({ act: fc.constantFrom('write', 'remove', 'write late'), node: fc.nat(uuids.length - 1) }),
    fc.constant({ act: 'read' } as const),
  ) as fc.Arbitrary<Step>,
  { maxLength: 20 },
);

/** Writes it now, but is committed only when the answer is called. */
async function writeLate(uuid: string): Promise<() => Promise<void>> {
  const written = Promise.withResolvers<void>();
  const commit = Promise.withResolvers<void>();
  const done = database.db.transaction(async (tx) => {
    await tx.update(nodes).set({ lastError: crypto.randomUUID() }).where(eq(nodes.uuid, uuid));
    written.resolve();
    await commit.promise;
  });
  await written.promise;
  return () => {
    commit.resolve();
    return done;
  };
}

test('whatever is written, removed and committed late, what is known is what is there', async () => {
  const { db } = database;
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      await db.delete(nodes);
      let known: KnownNodes | undefined = await readNodes(db, undefined);
      const open = new Map<string, () => Promise<void>>();
      const pairs: (readonly [known: unknown, there: unknown])[] = [];
      const end = async (uuid: string): Promise<void> => {
        await open.get(uuid)?.();
        open.delete(uuid);
      };
      for (const step of sequence) {
        if (step.act === 'read') {
          known = await readNodes(db, known);
          pairs.push([known.subjects, (await readNodes(db, undefined)).subjects]);
          continue;
        }
        const uuid = uuids[step.node] ?? '';
        // a row that another transaction has written can't be written by two
        await end(uuid);
        if (step.act === 'remove') await db.delete(nodes).where(eq(nodes.uuid, uuid));
        else if (step.act === 'write late') open.set(uuid, await writeLate(uuid));
        else {
          const lastError = crypto.randomUUID();
          await db
            .insert(nodes)
            .values({ uuid, ...blank, lastError })
            .onConflictDoUpdate({ target: nodes.uuid, set: { lastError } });
        }
      }
      for (const uuid of uuids) await end(uuid);
      known = await readNodes(db, known);
      pairs.push([known.subjects, (await readNodes(db, undefined)).subjects]);
      expect(pairs.map(([knownThen]) => knownThen)).toEqual(pairs.map(([, there]) => there));
    }),
    { numRuns: 40 },
  );
});

test('only what was written since is fetched', async () => {
  const { db } = database;
  await db.delete(nodes);
  await db.insert(nodes).values(uuids.map((uuid) => ({ uuid, ...blank })));
  const [first = '', second = ''] = uuids;
  let before = await readNodes(db, undefined);
  // transactions of other tests on the same server may hold the horizon back
  const isRead = async (): Promise<boolean> => {
    const former = before;
    before = await readNodes(db, former);
    return before.subjects.get(second) === former.subjects.get(second);
  };
  await expect.poll(isRead).toBe(true);
  await db.update(nodes).set({ maintenance: true }).where(eq(nodes.uuid, first));
  const after = await readNodes(db, before);
  expect(after.subjects.get(first)?.body).toContain('"maintenance":true');
  // the same object: it was not read again
  expect(after.subjects.get(second)).toBe(before.subjects.get(second));
  expect(after.readAllAt).toBe(before.readAllAt);
});

test('a verdict that changes is read, though nothing writes the node, and so are its acceptance and another TPM', async () => {
  const { db } = database;
  await db.delete(nodes);
  await db.insert(nodes).values(uuids.map((uuid) => ({ uuid, ...blank })));
  const [first = ''] = uuids;
  let known = await readNodes(db, undefined);
  const readAllAt = known.readAllAt;
  const attestation = async (): Promise<unknown> => {
    known = await readNodes(db, known);
    return FleetNode.parse(JSON.parse(known.subjects.get(first)?.body ?? '')).attestation;
  };
  expect(await attestation()).toBeNull();
  const at = (minute: number) => new Date(Date.UTC(2026, 10, 30, 10, minute));
  const times = { seenAt: at(0), acceptedAt: at(0) };
  await db.insert(nodeTpms).values({ nodeUuid: first, ekPublic: '', verdict: 'trusted', reasons: [], ...times });
  const trusted = { verdict: 'trusted', reasons: [], accepted: false, another: false };
  expect(await attestation()).toEqual(trusted);
  const reasons = ['the firmware changed (PCR 0)'];
  await db.update(nodeTpms).set({ verdict: 'changed', reasons, seenAt: at(1) });
  const changed = { ...trusted, verdict: 'changed', reasons };
  expect(await attestation()).toEqual(changed);
  await db.update(nodeTpms).set({ acceptedBy: 'ada', acceptedAt: at(2) });
  expect(await attestation()).toEqual({ ...changed, accepted: true });
  await db.update(nodeTpms).set({ otherEkPublic: '', otherAt: at(3) });
  expect(await attestation()).toEqual({ ...changed, accepted: true, another: true });
  await db.update(nodeTpms).set({ acceptedAt: at(4) });
  expect(await attestation()).toEqual({ ...changed, accepted: true });
  expect(known.readAllAt, 'all the others were left alone').toBe(readAllAt);
});

test('a node is read as its event describes it, with all the fields that lists are asked for', async () => {
  const { db } = database;
  await db.delete(nodes);
  const [uuid = ''] = uuids;
  await db.insert(nodes).values({ uuid, ...blank, extra: { rack: 7 }, owner: 'ours', lessee: 'theirs' });
  const subject = (await readNodes(db, undefined)).subjects.get(uuid);
  const event = FleetNode.parse(JSON.parse(subject?.body ?? ''));
  expect(event).toMatchObject({ rack: '7', traits: [], owner: 'ours' });
  expect(Object.keys(event).sort()).toEqual([...fleetNodeFields].sort());
  expect(subject?.lessee).toBe('theirs');
});

test('a horizon that the database has not come to, as after a restore, is not believed', async () => {
  const { db } = database;
  const [first = ''] = uuids;
  const before = await readNodes(db, undefined);
  await db.update(nodes).set({ lastError: 'restored' }).where(eq(nodes.uuid, first));
  const later = await db.execute(sql`select ((pg_current_xact_id()::text::bigint + 100000) % 4294967296)::text as xid`);
  const [{ xid } = { xid: '' }] = rowsOf(later) as { xid: string }[];
  const after = await readNodes(db, { ...before, horizon: xid });
  expect(after.subjects.get(first)?.body).toContain('restored');
});

test.each([
  ['http://me:hunter2@images/a/debian.raw.zst?sig=hunter2#x', 'debian.raw.zst'],
  ['http://images/store/debian.caibx/', 'debian.caibx'],
  ['http://me:hunter2@images', null],
  ['https://images?token=hunter2', null],
  ['8b6c1b2e-0c8a-4b7e-9f5d-2f5f3d1c9a10', '8b6c1b2e-0c8a-4b7e-9f5d-2f5f3d1c9a10'],
  [{ odd: 'hunter2' }, null],
])('of an image at %j no more than its name is said, %j, as the lists of the board have it', async (source, name) => {
  const { db } = database;
  await db.delete(nodes);
  const [uuid = ''] = uuids;
  const instance_info = { image_source: source };
  await db.insert(nodes).values({ uuid, ...blank, instanceInfo: instance_info });
  const body = (await readNodes(db, undefined)).subjects.get(uuid)?.body ?? '{}';
  expect(JSON.parse(body)).toMatchObject({ image: name });
  expect(body).not.toContain('hunter2');
  expect(imageNameOf({ instance_info }) ?? null).toBe(name);
});

test.each([
  [{ rack_unit: 7 }, {}, 7],
  [{}, { rack_unit: '42' }, 42],
  [{ rack_unit: 'U7' }, { rack_unit: 3 }, 3],
  [{ rack_unit: 0 }, {}, null],
  [{ rack_unit: 1.5 }, {}, null],
  [{ rack_unit: [7] }, {}, null],
  [{ rack_unit: 100 }, {}, null],
])(
  'properties %j and extra %j stand for unit %j, as the lists of the board have it',
  async (properties, extra, unit) => {
    const { db } = database;
    await db.delete(nodes);
    const [uuid = ''] = uuids;
    await db.insert(nodes).values({ uuid, ...blank, properties, extra });
    const body = (await readNodes(db, undefined)).subjects.get(uuid)?.body ?? '{}';
    expect(JSON.parse(body)).toMatchObject({ rack_unit: unit });
    expect(rackUnitOf({ properties, extra }) ?? null).toBe(unit);
  },
);
