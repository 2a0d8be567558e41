import { mkdtemp, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { listen } from '#conductor/http/listen.ts';
import {
  connectionLimits,
  descriptorWarning,
  readDescriptorLimit,
  shareConnections,
} from '#conductor/http/routing/share-connections.ts';
import { createMetrics } from '#conductor/kernel/metrics/metrics.ts';
import { silentLog } from '#shared/log.ts';

/** A server whose answer to `/held` comes when `letGo` says so. */
async function serve(all: number, ofAddress: number) {
  const metrics = createMetrics();
  const lines: unknown[] = [];
  const log = { ...silentLog, warn: (...line: unknown[]) => void lines.push(line[1]) };
  const shares = shareConnections({ all, ofAddress }, { log, metrics });
  const held = Promise.withResolvers<void>();
  const asked = { held: 0 };
  const server = await listen(
    async (request) => {
      if (request.url.endsWith('/held')) {
        asked.held += 1;
        await held.promise;
      }
      return new Response('well');
    },
    { host: '127.0.0.1', port: 0, connections: shares },
  );
  const sockets: Socket[] = [];
  onTestFinished(async () => {
    held.resolve();
    for (const socket of sockets) socket.destroy();
    await server.close();
  });
  const open = async (localAddress: string) => {
    const socket = connect({ host: '127.0.0.1', port: server.port, localAddress });
    sockets.push(socket);
    const seen = { isOpen: true };
    socket.on('error', () => undefined);
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    void closed.then(() => Object.assign(seen, { isOpen: false }));
    await new Promise<void>((resolve) => socket.once('connect', resolve));
    const ask = async (path: string): Promise<string> => {
      const answer = new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))));
      socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
      return Promise.race([answer, closed.then(() => 'closed')]);
    };
    return { ask, closed, seen };
  };
  const cut = async (kind: string): Promise<number | undefined> =>
    (await metrics.connectionsCut.get()).values.find(({ labels }) => labels.kind === kind)?.value;
  return { open, cut, lines, shares, asked, letGo: held.resolve };
}

test('the idle connections of an address that has most make room for others', async () => {
  const { open, cut, lines, shares } = await serve(6, 6);
  const idle = [];
  for (let index = 0; index < 6; index += 1) idle.push(await open('127.0.0.1'));
  expect(await idle[0]?.ask('/')).toContain('well');
  expect(shares.trouble()).toBeUndefined();
  const other = await open('127.0.0.2');
  expect(await other.ask('/')).toContain('well');
  // used a moment ago, the first stays
  await idle[1]?.closed;
  expect(idle.map(({ seen }) => seen.isOpen)).toEqual([true, false, true, true, true, true]);
  expect(shares.trouble()).toBe('connections run short: 6 of 6 are open; the log says whose');
  for (let index = 0; index < 3; index += 1) await (await open('127.0.0.2')).ask('/');
  expect([await cut('idle'), await cut('new'), lines]).toEqual([4, undefined, ['connections run short']]);
});

test('no address has more than its share', async () => {
  const { open, cut } = await serve(100, 3);
  const idle = [];
  for (let index = 0; index < 5; index += 1) idle.push(await open('127.0.0.1'));
  await Promise.all(idle.slice(0, 2).map(({ closed }) => closed));
  expect(idle.map(({ seen }) => seen.isOpen)).toEqual([false, false, true, true, true]);
  expect(await cut('idle')).toBe(2);
});

test('a connection with a request is not closed: the new one is', async () => {
  const { open, cut, asked, letGo } = await serve(2, 2);
  const busy = [await open('127.0.0.1'), await open('127.0.0.1')];
  const answers = busy.map(({ ask }) => ask('/held'));
  await expect.poll(() => asked.held).toBe(2);
  await (await open('127.0.0.2')).closed;
  letGo();
  for (const answer of await Promise.all(answers)) expect(answer).toContain('well');
  expect(await cut('new')).toBe(1);
});

test('limits follow what the system lets the process have', async () => {
  expect(connectionLimits()).toEqual({ all: 20_000, ofAddress: 10_000 });
  expect(connectionLimits(65_536)).toEqual({ all: 20_000, ofAddress: 10_000 });
  expect(connectionLimits(1_024)).toEqual({ all: 768, ofAddress: 384 });
  expect(connectionLimits(256)).toEqual({ all: 128, ofAddress: 64 });
  expect(connectionLimits(20)).toEqual({ all: 16, ofAddress: 8 });
  const file = join(await mkdtemp(join(tmpdir(), 'baton-limits-')), 'limits');
  await writeFile(
    file,
    'Limit  Soft  Hard  Units\nMax open files            1024                 4096                 files\n',
  );
  expect(await readDescriptorLimit(file)).toBe(1_024);
  expect(descriptorWarning(1_024)).toContain('1024 file descriptors, which leaves 768 connections: raise LimitNOFILE=');
  expect(await readDescriptorLimit()).toBeGreaterThan(0);
  await writeFile(file, 'Max open files            unlimited            unlimited            files\n');
  expect(await readDescriptorLimit(file)).toBeUndefined();
  expect([descriptorWarning(undefined), descriptorWarning(65_536)]).toEqual([undefined, undefined]);
});
