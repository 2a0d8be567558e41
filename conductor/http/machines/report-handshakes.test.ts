import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eq } from 'drizzle-orm';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { listen, openTlsFiles, type TlsFiles } from '#conductor/http/listen.ts';
import { reportHandshakes } from '#conductor/http/machines/report-handshakes.ts';
import { agentSessions, nodeBootEvents } from '#conductor/kernel/db/schema/agent.ts';
import { silentLog } from '#shared/log.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { makeCertificate } from '#test/support/certificate.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let directory: string;
let tls: TlsFiles;
let server: Awaited<ReturnType<typeof listen>>;
beforeAll(async () => {
  api = await openTestApi();
  directory = await mkdtemp(join(tmpdir(), 'baton-handshakes-'));
  tls = await openTlsFiles(await makeCertificate(directory, 'served'), { log: silentLog });
});
beforeEach(async () => {
  await server?.close();
  await api.context.db.delete(agentSessions);
  const onBrokenHandshake = reportHandshakes(api.context);
  server = await listen(() => new Response(), { host: '127.0.0.1', port: 0, tls, onBrokenHandshake });
});
afterAll(async () => {
  await server.close();
  tls.close();
  await api.close();
  await rm(directory, { recursive: true, force: true });
});

async function bootingNode(session: Partial<typeof agentSessions.$inferInsert>): Promise<string> {
  const { uuid: nodeUuid } = await api.call('POST', '/v1/nodes', {
    driver: 'fake-hardware',
    name: `n-${randomUUID()}`,
  });
  await api.context.db.insert(agentSessions).values({ nodeUuid, token: 'sealed', ...session });
  return nodeUuid;
}
const eventsOf = (nodeUuid: string) =>
  api.context.db.select().from(nodeBootEvents).where(eq(nodeBootEvents.nodeUuid, nodeUuid));
async function distrust(): Promise<void> {
  const dispatcher = new Agent();
  await expect(request(server.url, { dispatcher })).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
  await dispatcher.close();
}

test.each([{ bootSource: '127.0.0.1' }, { bootSource: '::ffff:127.0.0.1' }, { callbackUrl: 'https://127.0.0.1:9999' }])(
  'a machine that does not trust the certificate: its boot says so, and what to do: %o',
  async (session) => {
    const node = await bootingNode(session);
    await bootingNode({ bootSource: '127.0.0.11', callbackUrl: 'https://127.0.0.12:9999' });
    await distrust();
    await distrust();
    const events = await waitUntil('the milestone', async () => {
      const found = await eventsOf(node);
      return found.length > 0 ? found : undefined;
    });
    expect(events).toMatchObject([
      {
        event: 'refused',
        detail: expect.stringMatching(
          /^TLS: The machine ends its connections from 127\.0\.0\.1 before it asks anything\. It most likely doesn't trust the API's certificate: .* clock\.$/,
        ),
      },
    ]);
    const { history } = (await api.call('GET', `/v1/nodes/${node}/history`)).body as { history: { event: string }[] };
    expect(history.map(({ event }) => event)).toContainEqual(expect.stringMatching(/^refused TLS: /));
  },
);

test('an address that two boots have called from says nothing of either', async () => {
  const nodes = [await bootingNode({ bootSource: '127.0.0.1' }), await bootingNode({ bootSource: '127.0.0.1' })];
  const third = await bootingNode({ bootSource: '127.0.0.3' });
  const report = reportHandshakes(api.context);
  report('127.0.0.1');
  report('127.0.0.3');
  await waitUntil('the milestone of the other', async () => ((await eventsOf(third)).length > 0 ? true : undefined));
  expect(await Promise.all(nodes.map(eventsOf))).toEqual([[], []]);
});
