import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

/** A node's flow shows what its machine fetches while it boots. */

const mac = '52:54:00:00:00:01';
let api: TestApi;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-boot-'));
  await writeFile(join(folder, 'vmlinuz'), 'kernel');
  await writeFile(join(folder, 'initrd.img'), 'the initrd');
  api = await openTestApi({ settings: { BATON_RAMDISK_DIR: folder } });
});
afterAll(async () => {
  await api.close();
  await rm(folder, { recursive: true });
});

test('script, kernel and initrd, with the bytes that were taken', async () => {
  const { uuid: nodeUuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'n1' });
  await api.call('POST', '/v1/ports', { node_uuid: nodeUuid, address: mac });
  await api.context.db.insert(flows).values({ uuid: randomUUID(), nodeUuid, kind: 'deploy', state: 'running' });
  const boot = async () =>
    ((await api.call('GET', '/v1/nodes/n1/flow')).body['boot'] as { event: string }[]).map(
      ({ event, ...more }) => [event, more] as const,
    );
  const seen = (count: number) =>
    waitUntil(`${count} events`, async () => ((await boot()).length === count ? true : undefined), {
      everyMs: 20,
    });
  const query = `?mac=${mac.replaceAll(':', '-')}`;
  await api.request(`/boot/node.ipxe${query}`);
  await seen(1);
  // firmware looks at the size first
  await api.request(`/boot/vmlinuz${query}`, { method: 'HEAD' });
  await (await api.request(`/boot/vmlinuz${query}`)).text();
  await seen(2);
  await (await api.request(`/boot/initrd.img${query}`)).text();
  await (await api.request('/boot/initrd.img?mac=nonsense')).text();
  await seen(3);
  expect(await boot()).toMatchObject([
    ['script', { detail: 'local disk', bytes: null, conductor: 'test-host' }],
    ['kernel', { detail: null, bytes: 6 }],
    ['initrd', { bytes: 10 }],
  ]);
});
