import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { collectInventory } from '#conductor/flows/conductor-steps/inspect-collect-inventory.ts';
import { requireTrusted } from '#conductor/flows/conductor-steps/power-into-ramdisk.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { recordInspected } from '#conductor/nodes/inspection/inventory-store.ts';
import { recordAttestation } from '#conductor/nodes/tpm/tpm-store.ts';
import type { BootVerdict } from '#shared/wire/attestation.ts';
import { availableNode } from '#test/support/available-node.ts';
import { openTestDatabase } from '#test/support/test-database.ts';

/** Steps that wait for the ramdisk, where machines have to prove themselves. */

const database = await openTestDatabase();
const { db } = database;
afterAll(() => database.close());

const startedAt = new Date('2026-11-29T12:00:00Z');
const later = new Date('2026-11-29T12:01:00Z');
let nodeUuid: string;
beforeEach(async () => {
  const node = availableNode(crypto.randomUUID());
  nodeUuid = node.uuid;
  await db.insert(nodes).values(node);
});

const contextOf = (attestation: string): StepContext =>
  ({
    db,
    node: { uuid: nodeUuid },
    flow: { startedAt },
    step: { startedAt },
    config: { attestation, conductorName: 'c1' },
    ask: <T>(answer: Promise<T>) => answer,
    agent: () => {
      throw new Error('the agent is asked');
    },
  }) as unknown as StepContext;

const boot = (verdict: BootVerdict, at = later, ekPublic = 'ours') =>
  recordAttestation(
    db,
    nodeUuid,
    { ekPublic, ekCertificate: undefined, boot: undefined, verdict, reasons: ['the firmware changed (PCR 0)'] },
    at,
  );

describe('a step that waits for the ramdisk', () => {
  test.each(['changed', 'unknown'] as const)('fails for a boot that is %s', async (verdict) => {
    await boot('trusted', startedAt);
    await boot(verdict);
    await expect(requireTrusted(contextOf('require'))).rejects.toMatchObject({
      message: `the boot is not trusted (${verdict}): the firmware changed (PCR 0)`,
      situation: 'boot_not_trusted',
    });
    await expect(requireTrusted(contextOf('record'))).resolves.toBeUndefined();
  });

  test('goes on for one that is trusted, before any, and after one of earlier', async () => {
    await expect(requireTrusted(contextOf('require'))).resolves.toBeUndefined();
    await boot('changed', new Date(startedAt.getTime() - 1));
    await expect(requireTrusted(contextOf('require'))).resolves.toBeUndefined();
    await boot('trusted');
    await expect(requireTrusted(contextOf('require'))).resolves.toBeUndefined();
  });

  test("goes on for another machine's TPM, as any stranger has one", async () => {
    await boot('trusted', startedAt);
    await boot('changed', later, 'theirs');
    await expect(requireTrusted(contextOf('require'))).resolves.toBeUndefined();
  });
});

test('an inventory that anybody may have sent is not taken: the proved agent is asked', async () => {
  await recordInspected(db, { nodeUuid, inventory: {}, pluginData: { error: 'sent by a stranger' } });
  await expect(collectInventory.run(contextOf('require'))).rejects.toThrow('the agent is asked');
  await expect(collectInventory.run(contextOf('record'))).rejects.toThrow('sent by a stranger');
});
