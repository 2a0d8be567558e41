import { randomInt } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type ListenOptions, type Server } from 'node:net';
import { AppError } from '#shared/errors/app-error.ts';

export interface PortRange {
  readonly from: number;
  /** The first one above it. */
  readonly below: number;
}

/**
 * File with the ports that the kernel gives to connections, and to servers that ask for any; each network namespace has
 * its own.
 */
const kernelsFile = '/proc/sys/net/ipv4/ip_local_port_range';

/** So many are enough, and above those that servers have by custom. */
const most = 12_768;

/**
 * Ports that the kernel gives to nobody, of its range as `kernelsFile` has it: first and last, apart by white space.
 * Where it gives away all but a few, some of its own, which are probed as any. Pure.
 */
export function portsOutside(range: string): PortRange {
  const [first = Number.NaN, last = Number.NaN] = range.trim().split(/\s+/).map(Number);
  if (!(first <= last))
    throw new AppError('internal', `${kernelsFile} has no range of ports: ${JSON.stringify(range)}`);
  const under: PortRange = { from: Math.max(1024, first - most), below: first };
  const above: PortRange = { from: Math.max(1024, last + 1), below: Math.min(65_536, last + 1 + most) };
  const [outside] = [under, above].filter(({ from, below }) => below - from >= 1000);
  return outside ?? { from: 20_000, below: 20_000 + most };
}

export interface ClaimedPort {
  readonly port: number;
  readonly release: () => Promise<void>;
}

/** A TCP port on loopback that nobody listens on, and that nobody else is given as long as this process lives. */
export async function freePort(): Promise<number> {
  return (await claimPort()).port;
}

/** The same, for who needs one for a while only. @throws AppError `busy` when none is left */
export async function claimPort(range?: PortRange): Promise<ClaimedPort> {
  const { from, below } = range ?? portsOutside(await readFile(kernelsFile, 'utf8'));
  const count = below - from;
  const first = randomInt(count);
  for (let index = 0; index < count; index += 1) {
    const port = from + ((first + index) % count);
    // an abstract socket: each network namespace has one of a name, as it has one of each port; it goes with its process
    const claim = await listen({ path: `\0baton-test-port-${port}` });
    if (!claim) continue;
    const probe = await listen({ port, host: '127.0.0.1' });
    if (probe) {
      await close(probe);
      claim.unref();
      return { port, release: () => close(claim) };
    }
    await close(claim);
  }
  throw new AppError('busy', `find a TCP port that is free: none is from ${from} to ${below - 1}`);
}

/** `undefined`: somebody does already. */
function listen(where: ListenOptions): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error),
    );
    server.listen(where, () => resolve(server));
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.close((error) => (error ? reject(error) : resolve()));
  });
}
