import { afterAll, expect, test } from 'vitest';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { latestInventory, recordInspected, refreshInventory } from '#conductor/nodes/inspection/inventory-store.ts';
import { availableNode } from '#test/support/available-node.ts';
import { openTestDatabase } from '#test/support/test-database.ts';

const database = await openTestDatabase();
const { db } = database;
afterAll(() => database.close());

const node = availableNode('n1');
const inventory = (...serials: readonly string[]) => ({
  interfaces: [],
  disks: [
    ...serials.map((serial, index) => ({ name: `/dev/sd${'abc'[index]}`, serial, size: 5 })),
    { name: '/dev/md127', size: 5 },
    { name: '/dev/sr0', size: 5 },
  ],
});
const refresh = (...serials: readonly string[]) =>
  db.transaction((tx) => refreshInventory(tx, { nodeUuid: node.uuid, inventory: inventory(...serials) }));
const toMeet = async () => (await latestInventory(db, node.uuid))?.toMeet.map(({ serial }) => serial);

test('a disk that is not seen any more is remembered until it is back, or an inspection does without it', async () => {
  await db.insert(nodes).values(node);
  await refresh('A', 'B');
  expect(await toMeet()).toEqual(['A', 'B']);
  // pulled out, or dead; the other has another name now
  await refresh('B');
  await refresh('B');
  expect(await toMeet()).toEqual(['B', 'A']);
  await refresh('B', 'A');
  expect(await toMeet()).toEqual(['B', 'A']);
  await refresh('B', 'C');
  await recordInspected(db, { nodeUuid: node.uuid, inventory: inventory('B', 'C') });
  expect(await toMeet()).toEqual(['B', 'C']);
});

test('a disk that tells no size any more is as good as gone', async () => {
  await recordInspected(db, { nodeUuid: node.uuid, inventory: inventory('A') });
  const dead = { interfaces: [], disks: [{ name: '/dev/sda', serial: 'A', size: 0 }] };
  await db.transaction((tx) => refreshInventory(tx, { nodeUuid: node.uuid, inventory: dead }));
  expect(await toMeet()).toEqual(['A']);
});
