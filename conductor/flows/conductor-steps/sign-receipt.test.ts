import { randomUUID } from 'node:crypto';
import { eq } from 'drizzle-orm';
import { afterAll, expect, test } from 'vitest';
import { signReceipt, signWipe } from '#conductor/flows/conductor-steps/sign-receipt.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import { type FlowStepInsert, flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { ports, switchPorts } from '#conductor/kernel/db/schema/port.ts';
import { receipts } from '#conductor/kernel/db/schema/receipt.ts';
import { readPublicKeys } from '#conductor/model/receipts/envelope.ts';
import { verifyReceipt } from '#conductor/model/receipts/verify-receipt.ts';
import { recordInspected } from '#conductor/nodes/inspection/inventory-store.ts';
import { deleteNode } from '#conductor/nodes/node-store.ts';
import { listNodePorts } from '#conductor/nodes/ports/port-store.ts';
import { findReceiptOfFlow } from '#conductor/receipts/receipt-store.ts';
import { listReceiptKeys, rotateSigningKey } from '#conductor/receipts/signing-key-store.ts';
import { erasedDisk } from '#conductor/receipts/testing/example-facts.ts';
import { availableNode } from '#test/support/available-node.ts';
import { openTestDatabase } from '#test/support/test-database.ts';
import { testSecrets as secrets } from '#test/support/test-secrets.ts';

const database = await openTestDatabase();
const { db } = database;
afterAll(() => database.close());

const at = (minute: number): Date => new Date(Date.UTC(2026, 10, 21, 22, minute));

/** A node whose wipe, after its teardown, has come to its last step. */
async function wipedNode(name: string, wipes: readonly Partial<FlowStepInsert>[]): Promise<StepContext> {
  const node = { ...availableNode(name), provisionState: 'cleaning' as const };
  await db.insert(nodes).values(node);
  await recordInspected(db, {
    nodeUuid: node.uuid,
    inventory: {
      interfaces: [],
      disks: [{ name: '/dev/sdb', serial: 'ZC1', size: 4 }],
      system_vendor: { manufacturer: 'Dell Inc.', product_name: 'R650 ', serial_number: name },
    },
  });
  const mac = `52:54:00:00:${name.slice(0, 2)}:${name.slice(2)}`;
  const port = { uuid: randomUUID(), nodeUuid: node.uuid, address: mac };
  await db
    .insert(ports)
    .values({ ...port, localLinkConnection: { switch_id: `s${name}`, port_id: 'e7', switch_info: 'leaf1' } });
  await db.insert(switchPorts).values({ portUuid: port.uuid, network: null, appliedAt: at(39) });
  const [teardown, wipe] = [randomUUID(), randomUUID()];
  const ended = { state: 'succeeded' as const, endedAt: at(10) };
  await db.insert(flows).values([
    { uuid: teardown, nodeUuid: node.uuid, kind: 'teardown', startedAt: at(0), ...ended },
    {
      uuid: wipe,
      nodeUuid: node.uuid,
      kind: 'wipe',
      state: 'running',
      requestedBy: 'ops',
      actionId: '01A',
      wipe: { preserveLocalStorage: false },
      startedAt: at(10),
    },
  ]);
  const base = {
    flowUuid: wipe,
    phase: 'main',
    interface: 'deploy',
    step: 'wipe_disks',
    priority: 0,
    origin: 'core',
  } as const;
  for (const [position, more] of wipes.entries()) {
    const step = { ...base, uuid: randomUUID(), position, inBand: true, state: 'succeeded' as const, endedAt: at(30) };
    await db.insert(flowSteps).values({ ...step, ...more });
  }
  const [row] = await db.select().from(nodes).where(eq(nodes.uuid, node.uuid));
  const [flow] = await db.select().from(flows).where(eq(flows.uuid, wipe));
  return {
    db,
    secrets,
    clock: { now: () => at(40) },
    config: { conductorName: 'control-a' },
    node: row,
    flow,
    ports: () => listNodePorts(db, node.uuid),
    ask: <T>(answer: Promise<T>) => answer,
    record: <T>(write: (tx: Parameters<Parameters<typeof db.transaction>[0]>[0]) => Promise<T>) =>
      db.transaction(write),
  } as unknown as StepContext;
}

const output = { erased: [erasedDisk('ZC1')], skipped: [], agent_version: '7.1' };

test('a flow has one receipt, however often its step is run, and its node may go', async () => {
  const context = await wipedNode('0101', [{ output: { erased: [erasedDisk('FIRST')], skipped: [] } }, { output }]);
  const rows = await Promise.all([signWipe(context), signWipe(context), signWipe(context)]);
  expect(new Set(rows.map(({ uuid }) => uuid)).size).toBe(1);
  const outcome = await signReceipt.run(context);
  expect(outcome).toEqual({ kind: 'done', output: { receipt: rows[0]?.uuid, key: rows[0]?.keyFingerprint } });

  await deleteNode(db, context.node.uuid);
  const kept = await findReceiptOfFlow(db, context.flow.uuid);
  expect(kept).toMatchObject({
    uuid: rows[0]?.uuid,
    nodeName: '0101',
    serialNumber: '0101',
    actionId: '01A',
    disksWiped: 1,
  });
  const [key] = await listReceiptKeys(db);
  const { receipt } = verifyReceipt(kept?.envelope ?? '', readPublicKeys(key?.publicKey ?? '', 'key'));
  expect(receipt).toMatchObject({
    conductor: { name: 'control-a' },
    agent: { version: '7.1' },
    node: { uuid: context.node.uuid, name: '0101', vendor: 'Dell Inc.', model: 'R650', serial_number: '0101' },
    // of two wipes of a flow that has started over, the later one counts
    disks_wiped: [{ serial: 'ZC1' }],
    disks_not_seen: [],
    switch_ports: [{ switch_id: 's0101', port_id: 'e7', switch_info: 'leaf1', state: 'isolated', network: null }],
    times: { started: at(10).toISOString(), wiped: at(30).toISOString(), signed: at(40).toISOString() },
    flows: { wipe: context.flow.uuid, teardown: expect.any(String) as unknown },
    site_action: '01A',
    requested_by: 'ops',
  });
});

test('a key that is retired meanwhile signs nothing', async () => {
  const context = await wipedNode('0106', [{ output }]);
  let rotated: string | undefined;
  const between: StepContext['record'] = async (write) => {
    rotated ??= await rotateSigningKey({ db, secrets });
    return context.record(write);
  };
  const row = await signWipe({ ...context, record: between });
  expect(row.keyFingerprint).toBe(rotated);
  // its clock is behind the conductor's, by which receipts are signed
  await db
    .update(receipts)
    .set({ signedAt: new Date(Date.UTC(2100, 0)) })
    .where(eq(receipts.uuid, row.uuid));
  await rotateSigningKey({ db, secrets });
  const key = (await listReceiptKeys(db)).find(({ fingerprint }) => fingerprint === rotated);
  expect(key?.retiredAt).toEqual(new Date(Date.UTC(2100, 0)));
});

test.each<[string, string, Partial<FlowStepInsert>[], string]>([
  ['no wipe', '0102', [], "the disks' wipe is not a step of the flow"],
  [
    'a later wipe that is not done',
    '0103',
    [{ output }, { output, state: 'waiting', endedAt: null }],
    "the disks' wipe is waiting",
  ],
  [
    'an answer that tells nothing',
    '0104',
    [{ output: { GenericHardwareManager: null } }],
    'says nothing about its disks',
  ],
  [
    'a disk without proof',
    '0105',
    [{ output: { ...output, erased: [erasedDisk('ZC1', { proof: null })] } }],
    'nothing that was read back',
  ],
])('%s is not signed', async (_, name, steps, message) => {
  const context = await wipedNode(name, steps);
  await expect(signWipe(context)).rejects.toMatchObject({
    code: 'storage_error',
    message: expect.stringContaining(message) as unknown,
  });
  expect(await db.select().from(receipts).where(eq(receipts.flowUuid, context.flow.uuid))).toEqual([]);
});
