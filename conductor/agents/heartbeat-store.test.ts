import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { insertAgentSession } from '#conductor/agents/agent-session-store.ts';
import { createHeartbeatStore } from '#conductor/agents/heartbeat-store.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

test.each([
  [null, 'wakes a flow', true],
  ['node is in maintenance', 'wakes nobody', false],
] as const)('a heartbeat for a flow whose hold is %s %s, and makes it due: %s', async (held, woken, isDue) => {
  const { db } = api.context;
  const { uuid: nodeUuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware' });
  await insertAgentSession(db, nodeUuid, 'sealed');
  const later = new Date(Date.now() + 3_600_000);
  const flow = { uuid: crypto.randomUUID(), nodeUuid, kind: 'clean', state: 'waiting', nextCheckAt: later } as const;
  await db.insert(flows).values({ ...flow, held });

  const contact = { nodeUuid, token: 'sealed', callbackUrl: 'https://192.0.2.1:9999', version: '11.3.0' };
  expect(await createHeartbeatStore(db).store({ ...contact, certificate: null })).toBe(woken);
  const [after] = await db.select().from(flows).where(eq(flows.uuid, flow.uuid));
  expect(after?.nudges).toBe(1);
  expect((after?.nextCheckAt ?? later) < later).toBe(isDue);
});
