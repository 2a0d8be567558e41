import { eq } from 'drizzle-orm';
import { afterAll, expect, test } from 'vitest';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { nodeInventory } from '#conductor/kernel/db/schema/node-parts.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import {
  findInventory,
  latestInventory,
  recordInspected,
  recordShown,
  refreshInventory,
} from '#conductor/nodes/inspection/inventory-store.ts';
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

test.each<[string, JsonObject]>([
  ['whose interfaces are none', { interfaces: 'eth0' }],
  ['without interfaces', {}],
  ['with a processor of another form', { interfaces: [], cpu: 'x86' }],
])('an inventory %s has its disks all the same', async (_, rest) => {
  const before = { ...rest, disks: [{ name: '/dev/sda', serial: 'A', size: 5 }] };
  await recordInspected(db, { nodeUuid: node.uuid, inventory: before });
  expect((await latestInventory(db, node.uuid))?.disks?.map(({ serial }) => serial)).toEqual(['A']);
  await refresh('B');
  expect(await toMeet()).toEqual(['B', 'A']);
  // and those that are missing since
  await db.update(nodeInventory).set({ inventory: rest }).where(eq(nodeInventory.nodeUuid, node.uuid));
  expect(await latestInventory(db, node.uuid)).toMatchObject({ disks: undefined, toMeet: [{ serial: 'A' }] });
});

test.each<[string, unknown, string | null]>([
  ['without a name', [{ serial: 'A', size: 5 }], 'A'],
  ['whose name is a number', [{ name: 7, size: 5 }], null],
  ['that is a word', ['/dev/sda'], null],
  ['that is null', [null], null],
  ['in place of a list', '/dev/sda', null],
])('a disk %s is not met by another', async (_, disks, serial) => {
  await recordInspected(db, { nodeUuid: node.uuid, inventory: { interfaces: [], disks } });
  await refresh('B');
  const known = await latestInventory(db, node.uuid);
  expect(known?.toMeet.map((disk) => [disk.serial, disk.name])).toEqual([
    ['B', '/dev/sda'],
    [serial, 'a disk without a name'],
  ]);
  // it is back, where that can be told; else an inspection says that it is gone
  await refresh('B', 'A');
  expect((await toMeet())?.slice(2)).toEqual(serial === null ? [null] : []);
  await recordInspected(db, { nodeUuid: node.uuid, inventory: inventory('B') });
  expect(await toMeet()).toEqual(['B']);
});

const show = (...names: readonly string[]) =>
  db.transaction((tx) =>
    recordShown(tx, {
      nodeUuid: node.uuid,
      inventory: { interfaces: [], disks: names.map((name) => ({ name, size: 5 })), baton_by_bmc: ['disks'] },
      pluginData: {},
    }),
  );

test('drives that the BMC alone shows are no list that plans and wipes go by', async () => {
  await db.delete(nodeInventory);
  await show('Bay.0', 'Bay.1');
  expect(await latestInventory(db, node.uuid)).toMatchObject({ disks: undefined, toMeet: [] });
  await refresh('A');
  expect(await toMeet()).toEqual(['A']);
});

test('a BMC changes neither the list that a ramdisk has made nor its time, nor what is missing since', async () => {
  await recordInspected(db, { nodeUuid: node.uuid, inventory: inventory('A', 'B') });
  await refresh('B');
  const before = await findInventory(db, node.uuid);
  await show('Bay.0');
  expect(await toMeet()).toEqual(['B', 'A']);
  expect((await findInventory(db, node.uuid))?.collectedAt).toEqual(before?.collectedAt);
});
