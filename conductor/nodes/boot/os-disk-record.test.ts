import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { afterAll, expect, test } from 'vitest';
import { flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { trustedOsDisk } from '#conductor/nodes/boot/os-disk.ts';
import { OsDisk } from '#shared/wire/erase-result.ts';
import { availableNode } from '#test/support/available-node.ts';
import { openTestDatabase } from '#test/support/test-database.ts';

const database = await openTestDatabase();
const { db } = database;
afterAll(() => database.close());

const node = availableNode('n1');
const osDisk = OsDisk.parse({ disks: [{ name: '/dev/sda', serial: 'A' }] });
const trusted = (flow?: string) => trustedOsDisk(db, { uuid: node.uuid, osDisk: flow ? { ...osDisk, flow } : osDisk });

async function deploy(minute: number, state: 'succeeded' | 'failed', wrote: boolean): Promise<string> {
  const uuid = randomUUID();
  const at = new Date(Date.UTC(2026, 10, 21, 22, minute));
  await db.insert(flows).values({ uuid, nodeUuid: node.uuid, kind: 'deploy', state, startedAt: at, endedAt: at });
  await db.insert(flowSteps).values({
    uuid: randomUUID(),
    flowUuid: uuid,
    phase: 'main',
    position: 1,
    interface: 'deploy',
    step: 'write_image',
    priority: 80,
    origin: 'core',
    inBand: true,
    startedAt: wrote ? at : null,
  });
  return uuid;
}

test("a record counts while it is the last deploy's that has come as far as writing an image", async () => {
  await db.insert(nodes).values(node);
  expect(await trustedOsDisk(db, { uuid: node.uuid, osDisk: null })).toBeNull();
  // flows may be gone
  expect(await trusted()).toEqual(osDisk);
  const first = await deploy(1, 'succeeded', true);
  expect([await trusted(), await trusted(first)]).toEqual([null, osDisk]);
  await deploy(2, 'failed', false);
  expect(await trusted(first)).toEqual(osDisk);
  const broken = await deploy(3, 'failed', true);
  expect([await trusted(first), await trusted(broken)]).toEqual([null, osDisk]);
  await deploy(4, 'succeeded', false);
  expect(await trusted(broken)).toBeNull();
  await db.delete(flows).where(eq(flows.nodeUuid, node.uuid));
});
