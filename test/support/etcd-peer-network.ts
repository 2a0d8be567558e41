import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';

/** Carries what members of a cluster say to each other, and can cut one off from the others while clients reach it. */
export interface PeerNetwork {
  /** The proxy (`HTTPS_PROXY`) of the member with that address. */
  join(address: string, peerPort: number): Promise<string>;
  cut(address: string): void;
  mend(address: string): void;
  close(): Promise<void>;
}

/**
 * Members have addresses that no machine has, so that their own HTTP clients go through a proxy for all but loopback: one
 * for each, which knows by that who calls, and by the address whom.
 */
export function createPeerNetwork(): PeerNetwork {
  const ports = new Map<string, number>();
  const cutOff = new Set<string>();
  const links = new Set<{ readonly ends: readonly string[]; readonly sockets: readonly Socket[] }>();
  const servers: ReturnType<typeof createServer>[] = [];
  const breakLinks = (isBroken: (ends: readonly string[]) => boolean): void => {
    for (const { ends, sockets } of links) if (isBroken(ends)) for (const socket of sockets) socket.destroy();
  };
  const carry = (from: string, to: string, near: Socket): void => {
    const port = ports.get(to);
    if (port === undefined || cutOff.has(from) || cutOff.has(to)) {
      near.destroy();
      return;
    }
    const far = connect(port, '127.0.0.1', () => {
      near.write('HTTP/1.1 200 OK\r\n\r\n');
      near.pipe(far).pipe(near);
    });
    const link = { ends: [from, to], sockets: [near, far] };
    links.add(link);
    for (const socket of link.sockets) {
      socket.setNoDelay(true);
      // an end that is gone is what the tests are about
      socket.on('error', () => undefined);
      socket.on('close', () => {
        links.delete(link);
        near.destroy();
        far.destroy();
      });
    }
  };
  return {
    join: async (address, peerPort) => {
      ports.set(address, peerPort);
      const server = createServer();
      servers.push(server);
      server.on('connect', (request, socket) =>
        carry(address, (request.url ?? '').replace(/:\d+$/, ''), socket as Socket),
      );
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const bound = server.address();
      if (bound === null || typeof bound === 'string') throw new Error('no port for a proxy');
      return `http://127.0.0.1:${bound.port}`;
    },
    cut: (address) => {
      cutOff.add(address);
      breakLinks((ends) => ends.includes(address));
    },
    mend: (address) => void cutOff.delete(address),
    close: async () => {
      breakLinks(() => true);
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}
