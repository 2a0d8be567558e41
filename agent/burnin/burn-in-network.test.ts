import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { burnInNetwork } from '#agent/burnin/burn-in-network.ts';
import { blockBytes, receiveBlocks, sendBlocks } from '#agent/burnin/network-stream.ts';
import { systemClock } from '#shared/clock.ts';
import { silentLog } from '#shared/log.ts';
import { freePort } from '#test/support/free-port.ts';

const services = (signal: AbortSignal = new AbortController().signal) => ({
  clock: { ...systemClock, sleep: () => systemClock.sleep(5) },
  log: silentLog,
  signal,
  reportProgress: () => undefined,
});
const settings = (role: 'writer' | 'reader') => ({ seconds: 0.2, role, partner: '127.0.0.1' });

describe('burnInNetwork', () => {
  test('two machines send to each other, in whichever order they come', async () => {
    const [a, b] = [await freePort(), await freePort()];
    const [reader, writer] = await Promise.all([
      burnInNetwork(services(), settings('reader'), { listen: b, partner: a }),
      burnInNetwork(services(), settings('writer'), { listen: a, partner: b }),
    ]);
    expect(reader.receivedBytes).toBe(writer.sentBytes);
    expect(writer.receivedBytes).toBe(reader.sentBytes);
    expect(writer.sentBytes).toBeGreaterThan(0);
    expect(reader.sentBytes).toBeGreaterThan(0);
  });

  test('stops while it waits for the partner', async () => {
    const stop = new AbortController();
    const [a, b] = [await freePort(), await freePort()];
    const waiting = burnInNetwork(
      { ...services(stop.signal), reportProgress: () => stop.abort() },
      settings('writer'),
      { listen: a, partner: b },
    );
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
  });

  test('stops while it sends', async () => {
    const stop = new AbortController();
    const [a, b] = [await freePort(), await freePort()];
    const both = await Promise.allSettled([
      burnInNetwork({ ...services(stop.signal) }, { ...settings('writer'), seconds: 600 }, { listen: a, partner: b }),
      burnInNetwork(
        { ...services(), reportProgress: ({ done_bytes: done }) => (done ? stop.abort() : undefined) },
        { ...settings('reader'), seconds: 600 },
        { listen: b, partner: a },
      ),
    ]);
    expect(both).toMatchObject([
      { status: 'rejected', reason: { code: 'aborted' } },
      { status: 'rejected', reason: { code: 'unavailable' } },
    ]);
  });
});

describe('the stream', () => {
  /** Gives the receiver's word on a stream that `spoil` has changed. */
  const receive = async (spoil: (bytes: Buffer) => Buffer): Promise<unknown> => {
    const sent: Buffer[] = [];
    const server = createServer((socket) => socket.on('data', (chunk) => sent.push(chunk)));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const socket = connect(port, '127.0.0.1');
    let rounds = 0;
    await sendBlocks(socket, () => {
      rounds += 1;
      return rounds > 3;
    });
    await once(socket, 'close');
    server.removeAllListeners('connection');
    server.on('connection', (to) => to.on('error', () => undefined).end(spoil(Buffer.concat(sent))));
    const back = connect(port, '127.0.0.1');
    try {
      return await receiveBlocks(back, () => undefined).catch((error: unknown) => error);
    } finally {
      server.close();
    }
  };

  test('comes as it was sent', async () => {
    expect(await receive((bytes) => bytes)).toBe(3 * blockBytes);
  });

  test.each<[string, (bytes: Buffer) => Buffer, RegExp]>([
    ['damage', (bytes) => Buffer.from(bytes).fill(7, 2 * blockBytes - 1, 2 * blockBytes + 1), /came damaged|came as/],
    ['a missing block', (bytes) => bytes.subarray(blockBytes), /block 0 came as block 1/],
    ['a cut', (bytes) => bytes.subarray(0, -1), /ended inside block 2/],
  ])('%s is found', async (_name, spoil, message) => {
    expect(await receive(spoil)).toMatchObject({ code: 'unavailable', message: expect.stringMatching(message) });
  });
});
