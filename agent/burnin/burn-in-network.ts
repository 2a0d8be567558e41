import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { receiveBlocks, sendBlocks } from '#agent/burnin/network-stream.ts';
import type { AgentContext } from '#agent/context.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { NetworkSettings } from '#shared/in-band/burnin-settings.ts';
import { retry } from '#shared/retry.ts';

/** The step's result. */
export interface NetworkResult {
  readonly partner: string;
  readonly sentBytes: number;
  readonly receivedBytes: number;
}

export interface NetworkPorts {
  readonly listen: number;
  readonly partner: number;
}

/** Ports of ironic-python-agent's fio. */
const usualPorts: NetworkPorts = { listen: 9000, partner: 9000 };
/** One stream is one processor's work, and takes one way through a bundle of links. */
const streams = 4;
/** How long one machine waits for the other: both boot, and one may be slow. */
const pairingMs = 900_000;
const retryMs = 2000;

type Services = Pick<AgentContext, 'clock' | 'signal' | 'log' | 'reportProgress'>;

/**
 * Sends data to the partner and takes data from it, one after the other, each for as long as it is set, comparing
 * checksums. The writer listens first; then the roles are changed.
 * @throws AppError `timeout` when the partner does not come, `unavailable` when the link breaks or damages data.
 */
export async function burnInNetwork(
  services: Services,
  settings: NetworkSettings,
  ports: NetworkPorts = usualPorts,
): Promise<NetworkResult> {
  const send = (): Promise<number> => listenAndSend(services, settings, ports.listen);
  const receive = (): Promise<number> => connectAndReceive(services, settings, ports.partner);
  const [sentBytes, receivedBytes] =
    settings.role === 'writer' ? [await send(), await receive()] : (await inOrder(receive, send)).toReversed();
  return { partner: settings.partner, sentBytes: sentBytes ?? 0, receivedBytes: receivedBytes ?? 0 };
}

async function inOrder(first: () => Promise<number>, second: () => Promise<number>): Promise<readonly number[]> {
  return [await first(), await second()];
}

async function listenAndSend(services: Services, settings: NetworkSettings, port: number): Promise<number> {
  const { clock, signal } = services;
  const server = createServer();
  const stop = AbortSignal.any([signal, AbortSignal.timeout(pairingMs)]);
  try {
    server.listen(port);
    await once(server, 'listening', { signal });
    services.log.info({ port, partner: settings.partner }, 'waiting for the partner');
    services.reportProgress({ phase: `waiting for ${settings.partner} to connect` });
    const sockets = await acceptAll(server, stop);
    const endsAt = clock.now().getTime() + settings.seconds * 1000;
    services.reportProgress({ phase: `sending to ${settings.partner}` });
    const isOver = (): boolean => signal.aborted || clock.now().getTime() >= endsAt;
    return await withSockets(signal, sockets, (socket) => sendBlocks(socket, isOver));
  } catch (cause) {
    throw failure(services, `send to ${settings.partner}`, cause);
  } finally {
    server.close();
  }
}

async function acceptAll(server: Server, signal: AbortSignal): Promise<readonly Socket[]> {
  const sockets: Socket[] = [];
  server.on('connection', (socket) => {
    socket.on('error', ignoreUntilUsed);
    sockets.push(socket);
  });
  while (sockets.length < streams) {
    await once(server, 'connection', { signal }).catch((cause: unknown) => {
      for (const socket of sockets) socket.destroy();
      throw new AppError('timeout', `the partner did not connect within ${pairingMs / 1000} s`, { cause });
    });
  }
  return sockets;
}

async function connectAndReceive(services: Services, settings: NetworkSettings, port: number): Promise<number> {
  const { clock, signal } = services;
  const giveUpAt = clock.now().getTime() + pairingMs;
  try {
    services.reportProgress({ phase: `connecting to ${settings.partner}` });
    const sockets: Socket[] = [];
    try {
      while (sockets.length < streams) {
        // the partner may still boot
        const withinMs = giveUpAt - clock.now().getTime();
        const options = { clock, signal, withinMs, delayMs: () => retryMs };
        sockets.push(await retry(() => openStream(settings.partner, port, signal), options));
      }
    } catch (cause) {
      for (const socket of sockets) socket.destroy();
      throw new AppError('timeout', `connect to port ${port} within ${pairingMs / 1000} s`, { cause });
    }
    let received = 0;
    const onBytes = (bytes: number): void => {
      received += bytes;
      services.reportProgress({ phase: `receiving from ${settings.partner}`, done_bytes: received });
    };
    return await withSockets(signal, sockets, (socket) => receiveBlocks(socket, onBytes));
  } catch (cause) {
    throw failure(services, `receive from ${settings.partner}`, cause);
  }
}

async function openStream(host: string, port: number, signal: AbortSignal): Promise<Socket> {
  const socket = connect({ host, port });
  socket.on('error', ignoreUntilUsed);
  try {
    await once(socket, 'connect', { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** The sum over all streams; none of them outlives it. */
async function withSockets(
  signal: AbortSignal,
  sockets: readonly Socket[],
  use: (socket: Socket) => Promise<number>,
): Promise<number> {
  const destroy = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  // with an error: who waits for an event of the socket hears of nothing else
  const onAbort = (): void => {
    for (const socket of sockets) socket.destroy(new AppError('aborted', 'the connection was closed'));
  };
  signal.addEventListener('abort', onAbort, { once: true });
  const broken = Promise.withResolvers<never>();
  for (const socket of sockets) socket.on('error', broken.reject);
  try {
    if (sockets.some(({ destroyed }) => destroyed)) throw new AppError('unavailable', 'a connection broke at once');
    const each = Promise.all(
      // closed: then the other side has all that was sent
      sockets.map(async (socket) => (await Promise.all([use(socket), once(socket, 'close')]))[0]),
    );
    return (await Promise.race([each, broken.promise])).reduce((sum, bytes) => sum + bytes, 0);
  } finally {
    signal.removeEventListener('abort', onAbort);
    destroy();
  }
}

/** An error that nobody listens for ends the process; `withSockets` looks for those that broke before it. */
function ignoreUntilUsed(): void {}

function failure(services: Services, what: string, cause: unknown): AppError {
  if (services.signal.aborted) return new AppError('aborted', `${what} was stopped`, { cause });
  if (cause instanceof AppError) return new AppError(cause.code, what, { cause, retryable: cause.retryable });
  return new AppError('unavailable', what, { cause });
}
