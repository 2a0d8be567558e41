import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to a server that can fall silent, as when a cable is pulled: connections stay open, and nothing comes through. */
export interface SilenceableWay {
  /** The server's URL by this way. */
  readonly url: string;
  /** From now on, for the connections that are open; new ones come through. */
  silence(): void;
  /** The same for new ones; the server hears nothing of it either when the other side ends. */
  cutCable(): void;
  /** New connections come through again; those that were open have been forgotten meanwhile. */
  plugIn(): void;
  close(): Promise<void>;
}

export async function openSilenceableWay(serverUrl: string): Promise<SilenceableWay> {
  const there = new URL(serverUrl);
  const pairs = new Set<readonly [Socket, Socket]>();
  const ends = new Set<Socket>();
  const state = { isCut: false };
  const keep = (socket: Socket): void => {
    ends.add(socket);
    socket.on('error', () => undefined); // the other side's business
    socket.once('close', () => ends.delete(socket));
  };
  const way = createServer((near) => {
    keep(near);
    if (state.isCut) {
      near.resume();
      return;
    }
    const far = connect(Number(there.port), there.hostname);
    keep(far);
    const pair = [near, far] as const;
    pairs.add(pair);
    near.pipe(far).pipe(near);
    for (const socket of pair) {
      socket.once('close', () => {
        if (!pairs.delete(pair)) return;
        for (const each of pair) each.destroy();
      });
    }
  });
  way.listen(0, '127.0.0.1');
  await once(way, 'listening');
  const here = new URL(serverUrl);
  here.port = String((way.address() as AddressInfo).port);
  const silence = (): void => {
    for (const [near, far] of pairs) {
      near.unpipe(far);
      far.unpipe(near);
      near.resume();
      far.resume();
    }
  };
  return {
    url: here.href,
    silence,
    cutCable: () => {
      state.isCut = true;
      silence();
      pairs.clear();
    },
    plugIn: () => {
      state.isCut = false;
      for (const socket of ends) socket.destroy();
    },
    close: async () => {
      for (const socket of ends) socket.destroy();
      way.close();
      await once(way, 'close');
    },
  };
}
