import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test, vi } from 'vitest';
import { createTracker, startSharing } from '#agent/image/neighbours/testing/swarm.ts';
import { silentLog } from '#shared/log.ts';

test('images are offered on the port that is named, on another where it is taken', async () => {
  const holder = createServer().listen(0, '127.0.0.1');
  await once(holder, 'listening');
  const { port } = holder.address() as AddressInfo;
  const urlOfOnly = async (): Promise<string> => {
    const tracker = createTracker();
    await using sharing = startSharing(tracker, 'a', silentLog, port);
    sharing.share('a'.repeat(64));
    return vi.waitFor(async () => {
      const request = { image: 'a'.repeat(64), port: 1, certificate_sha256: 'b'.repeat(64) };
      const [only] = (await tracker.ask('observer')(request)).neighbours;
      expect(only).toBeDefined();
      return only?.url ?? '';
    });
  };
  expect(await urlOfOnly()).not.toBe(`https://127.0.0.1:${port}`);
  holder.close();
  await once(holder, 'close');
  expect(await urlOfOnly()).toBe(`https://127.0.0.1:${port}`);
});
