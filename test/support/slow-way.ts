import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { createDraw } from '#test/support/draw.ts';

interface SlowWayOptions {
  /** Milliseconds there and back. */
  readonly roundTripMs: number;
  /** Pieces of which one is lost, and comes when TCP has sent it again; 0 = none is. */
  readonly lostOneIn: number;
}

/** Least time on Linux until a lost segment is sent again, beside the round trip. */
const retransmitMs = 200;

/** Opens a way to a server over a long link, in this process: kernels without `netem` have no other. Bytes stay in order. */
export async function openSlowWay(
  serverUrl: string,
  { roundTripMs, lostOneIn }: SlowWayOptions,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const there = new URL(serverUrl);
  const draw = createDraw(1);
  const ends = new Set<Socket>();
  const carry = (from: Socket, to: Socket): void => {
    let arrivesAt = 0;
    const after = (act: () => void, lateMs: number): void => {
      arrivesAt = Math.max(arrivesAt, performance.now() + roundTripMs / 2 + lateMs);
      setTimeout(act, arrivesAt - performance.now());
    };
    from.on('data', (piece) => {
      const isLost = lostOneIn > 0 && draw.number(lostOneIn) === 0;
      after(() => to.write(piece), isLost ? retransmitMs + roundTripMs : 0);
    });
    from.on('error', () => undefined);
    from.once('close', () => {
      ends.delete(from);
      after(() => to.end(), 0);
    });
    ends.add(from);
  };
  const way = createServer((near) => {
    const far = connect(Number(there.port), there.hostname);
    near.setNoDelay();
    far.setNoDelay();
    carry(near, far);
    carry(far, near);
  });
  way.listen(0, '127.0.0.1');
  await once(way, 'listening');
  const here = new URL(serverUrl);
  here.port = String((way.address() as AddressInfo).port);
  return {
    url: here.href,
    close: async () => {
      for (const end of ends) end.destroy();
      way.close();
      await once(way, 'close');
    },
  };
}
