import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to a server that can fall silent, as when a cable is pulled: connections stay open, and nothing comes through. */
export interface SilenceableWay {
  /** The server's URL by this way. */
  readonly url: string;
  /** From now on, for the connections that are open; new ones come through. */
  silence(): void;
  close(): Promise<void>;
}

export async function openSilenceableWay(serverUrl: string): Promise<SilenceableWay> {
  const there = new URL(serverUrl);
  const pairs = new Set<readonly [Socket, Socket]>();
  const way = createServer((near) => {
    const far = connect(Number(there.port), there.hostname);
    const pair = [near, far] as const;
    pairs.add(pair);
    near.pipe(far).pipe(near);
    for (const socket of pair) {
      socket.on('error', () => undefined); // the other side's business
      socket.once('close', () => {
        pairs.delete(pair);
        for (const each of pair) each.destroy();
      });
    }
  });
  way.listen(0, '127.0.0.1');
  await once(way, 'listening');
  const here = new URL(serverUrl);
  here.port = String((way.address() as AddressInfo).port);
  return {
    url: here.href,
    silence: () => {
      for (const [near, far] of pairs) {
        near.unpipe(far);
        far.unpipe(near);
        near.resume();
        far.resume();
      }
    },
    close: async () => {
      for (const [near] of pairs) near.destroy();
      way.close();
      await once(way, 'close');
    },
  };
}
