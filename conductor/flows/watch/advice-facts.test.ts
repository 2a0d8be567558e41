import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { latestFlow } from '#conductor/flows/watch/flow-view.ts';
import { nodeBootEvents } from '#conductor/kernel/db/schema/agent.ts';
import { flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodeInventory } from '#conductor/kernel/db/schema/node-parts.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let query: { readonly mock: { readonly calls: unknown[][] }; mockRestore(): void; mockClear(): void };
beforeAll(async () => {
  query = vi.spyOn(Client.prototype, 'query'); // before the first connection, which keeps it
  api = await openTestApi();
});
beforeEach(() => api.reset());
afterAll(async () => {
  await api.close();
  query.mockRestore();
});

const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000);

async function addNode(name: string, product: string): Promise<string> {
  const { uuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name });
  const inventory = { system_vendor: { manufacturer: 'ACME', product_name: product } };
  await api.context.db.insert(nodeInventory).values({ nodeUuid: uuid, inventory });
  return uuid;
}

async function seeBoot(nodeUuid: string, minutes: number): Promise<void> {
  const at = minutesAgo(minutes);
  await api.context.db.insert(nodeBootEvents).values([
    { nodeUuid, event: 'initrd', at, conductor: 'c' },
    { nodeUuid, event: 'heartbeat', at, conductor: 'c' },
  ]);
}

/** Looks at a node whose step has waited for its ramdisk since then; with the statements that read inventories. */
async function lookAt(nodeUuid: string, minutes: number) {
  const uuid = randomUUID();
  const startedAt = minutesAgo(minutes);
  const { db } = api.context;
  await db.insert(flows).values({ uuid, nodeUuid, kind: 'deploy', state: 'waiting', startedAt });
  await db.insert(flowSteps).values({
    uuid: randomUUID(),
    flowUuid: uuid,
    phase: 'main',
    position: 1,
    interface: 'deploy',
    step: 'deploy',
    priority: 100,
    origin: 'core',
    inBand: false,
    state: 'waiting',
    startedAt,
    waitingFor: 'first heartbeat of the ramdisk',
    fault: { code: 'ramdisk_silent' },
  });
  const node = await getNode(db, nodeUuid);
  query.mockClear();
  const view = await latestFlow(api.context, node);
  const sent = query.mock.calls.map(([asked]) => textOf(asked));
  expect(sent.filter((text) => text.includes('flow_steps'))).not.toEqual([]);
  return { advice: view?.advice, reads: sent.filter((text) => text.includes('node_inventory')) };
}

function textOf(asked: unknown): string {
  const text: unknown = typeof asked === 'object' && asked !== null && 'text' in asked ? asked.text : asked;
  if (typeof text !== 'string') throw new Error('a statement without a text');
  return text;
}

test('a look at a node that boots as usual reads no inventory', async () => {
  const uuid = await addNode('n1', 'One');
  await seeBoot(await addNode('n2', 'One'), 60);
  expect(await lookAt(uuid, 1)).toEqual({ advice: null, reads: [] });
});

test('a boot that lasts is compared with the last one of its model, among the newest boots', async () => {
  const uuid = await addNode('n1', 'One');
  await seeBoot(await addNode('older', 'One'), 60);
  await seeBoot(await addNode('same', 'One'), 50);
  await seeBoot(await addNode('other', 'Two'), 40);
  const { advice } = await lookAt(uuid, 10);
  expect(advice).toContain("Another ACME One has booted this conductor's ramdisk before: same on ");
});

test('a boot of more than the newest events is not looked for', async () => {
  const uuid = await addNode('n1', 'One');
  await seeBoot(await addNode('same', 'One'), 60);
  const other = await addNode('other', 'Two');
  const later = Array.from({ length: 2000 }, () => ({ nodeUuid: other, event: 'dhcp' as const, conductor: 'c' }));
  await api.context.db.insert(nodeBootEvents).values(later);
  const { advice } = await lookAt(uuid, 10);
  expect(advice).toContain('has not contacted the conductor');
  expect(advice).not.toContain('has booted');
});
