import { afterAll, expect, test } from 'vitest';
import { bootRamdisk } from '#conductor/flows/conductor-steps/boot-ramdisk.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { nodeHistory, nodes } from '#conductor/kernel/db/schema/node.ts';
import { availableNode } from '#test/support/available-node.ts';
import { openTestDatabase } from '#test/support/test-database.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

const database = await openTestDatabase();
const { db } = database;
afterAll(() => database.close());

/** Up to where the machine would be switched off for it. */
async function boot(driverInfo: Readonly<Record<string, string>>): Promise<unknown> {
  const node = { ...availableNode(crypto.randomUUID()), driver: 'redfish', driverInfo };
  await db.insert(nodes).values(node);
  return bootRamdisk.run({
    db,
    node: { ...node, interfaces: {} },
    flow: { kind: 'clean', actionId: null },
    step: { output: null },
    config: { nodeRamdisks: true, fastTrack: false, conductorName: 'c1' },
    secrets: testSecrets,
    record: (write: (tx: Transaction) => Promise<unknown>) => db.transaction(write),
    bmc: () => ({
      get power() {
        throw new Error('switched');
      },
    }),
  } as unknown as StepContext);
}

const events = () => db.select({ event: nodeHistory.event }).from(nodeHistory);

test("a node whose own ramdisk can't be booted is not cleaned by Baton's", async () => {
  const url = 'http://192.0.2.1/ipa.kernel';
  await expect(boot({ deploy_kernel: url })).rejects.toThrow('needs deploy_kernel and deploy_ramdisk, or neither');
  await expect(boot({ deploy_kernel: url, deploy_ramdisk: 'file:///ipa' })).rejects.toThrow('deploy_ramdisk must be');
  await expect(boot({ deploy_kernel: url, deploy_ramdisk: url })).rejects.toThrow('switched');
  await expect(boot({})).rejects.toThrow('switched');
  expect(await events()).toEqual([]);
});

test("the node's history says that Baton's is booted in place of images of Glance", async () => {
  const image = crypto.randomUUID();
  await expect(boot({ deploy_kernel: image, deploy_ramdisk: image })).rejects.toThrow('switched');
  expect(await events()).toEqual([{ event: expect.stringContaining("Baton's own ramdisk is booted: driver_info") }]);
});
