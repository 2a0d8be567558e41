import { randomBytes, randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { eq } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { saveAgentLogs } from '#conductor/agents/agent-session-store.ts';
import { nodeLogRoutes } from '#conductor/http/nodes/node-records.routes.ts';
import { newApiApp } from '#conductor/http/routing/define-routes.ts';
import { answerError } from '#conductor/http/routing/error-answers.ts';
import { agentLogs } from '#conductor/kernel/db/schema/agent.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { createMetrics } from '#conductor/kernel/metrics/metrics.ts';
import { silentLog } from '#shared/log.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let nodeUuid: string;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(async () => {
  await api.reset();
  nodeUuid = (await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1' })).uuid;
});
afterAll(() => api.close());

/** An ended flow, its logs saved. */
async function save(content: Buffer): Promise<string> {
  const uuid = randomUUID();
  const { db } = api.context;
  await db.insert(flows).values({ uuid, nodeUuid, kind: 'deploy', state: 'failed', endedAt: new Date() });
  await db.transaction((tx) => saveAgentLogs(tx, { nodeUuid, flowUuid: uuid, content }));
  return uuid;
}

async function fetchLogs(query = ''): Promise<Response> {
  const app = newApiApp();
  nodeLogRoutes(app, api.context);
  app.onError(answerError({ log: silentLog, metrics: createMetrics() }));
  return app.request(`http://api.example/v1/nodes/n1/flow/logs${query}`);
}

test('answers the newest, or those of one flow, as they came', async () => {
  const first = gzipSync('first');
  const flow = await save(first);
  await save(gzipSync('second'));
  const newest = await fetchLogs();
  expect(newest.headers.get('content-type')).toBe('application/gzip');
  expect(newest.headers.get('content-disposition')).toMatch(new RegExp(`filename="${nodeUuid}-\\d{8}T\\d{6}Z.tar.gz"`));
  expect(Buffer.from(await newest.arrayBuffer()).equals(gzipSync('second'))).toBe(true);
  const older = await fetchLogs(`?flow=${flow}`);
  expect(older.headers.get('x-baton-flow')).toBe(flow);
  expect(Buffer.from(await older.arrayBuffer()).equals(first)).toBe(true);
});

test('says why there are none', async () => {
  expect((await api.call('GET', '/v1/nodes/n1/flow/logs')).fault).toContain('has no logs: they are collected when');
  expect((await api.call('GET', `/v1/nodes/n1/flow/logs?flow=${randomUUID()}`)).status).toBe(404);
  expect((await api.call('GET', '/v1/nodes/n1/flow/logs?flow=x')).fault).toContain("must be a flow's UUID");
});

test('keeps the last five of each node, and outlives the flow', async () => {
  const flowUuids: string[] = [];
  for (let count = 0; count < 7; count += 1) flowUuids.push(await save(gzipSync(`logs ${count}`)));
  const { db } = api.context;
  const kept = await db.select({ flow: agentLogs.flowUuid }).from(agentLogs).orderBy(agentLogs.id);
  expect(kept.map((row) => row.flow)).toEqual(flowUuids.slice(2));
  await db.delete(flows).where(eq(flows.nodeUuid, nodeUuid));
  expect((await fetchLogs()).status).toBe(200);
});

test('takes no more than 10 MiB, and gzip only', async () => {
  await expect(save(Buffer.concat([gzipSync('x'), randomBytes(10 * 1024 * 1024)]))).rejects.toThrow('the most that is');
  await expect(save(Buffer.from('plain text'))).rejects.toThrow('not a gzipped tar');
});
