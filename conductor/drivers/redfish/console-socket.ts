import { type RawData, WebSocket } from 'ws';
import { stoppedError } from '#conductor/drivers/call-deadline.ts';
import type { ConsoleLine } from '#conductor/drivers/interfaces.ts';
import type { LineContext } from '#conductor/drivers/redfish/line-context.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { outboundLookup } from '#shared/peers/outbound-url.ts';
import { closeSocket } from '#shared/web-socket/close-socket.ts';
import { highWaterBytes } from '#shared/web-socket/pump.ts';
import { maxConsoleMessageBytes } from '#shared/wire/console.ts';

/** `SerialConsole.WebSocket.ConsoleURI`: the line's bytes as messages, with the login of all requests. */
export async function openSocketLine(context: LineContext, uri: string): Promise<ConsoleLine> {
  const { system, connection, outbound, signal } = context;
  const { origin } = system.client;
  const what = `open the serial console at ${origin}`;
  const url = URL.parse(uri, origin);
  // the login goes to the configured BMC only
  if (url?.host !== new URL(origin).host) throw new AppError('bmc_error', `${what}: it leads to ${url?.host ?? uri}`);
  url.protocol = origin.startsWith('https:') ? 'wss:' : 'ws:';
  const { verifyCa } = connection;
  const socket = new WebSocket(url, {
    headers: await system.client.login(signal),
    rejectUnauthorized: verifyCa !== false,
    ...(typeof verifyCa === 'string' ? { ca: verifyCa } : {}),
    ...(outbound ? { lookup: outboundLookup(outbound) } : {}),
    maxPayload: maxConsoleMessageBytes,
    perMessageDeflate: false,
  });
  await opened(socket, what, signal);
  return lineOf(socket);
}

function opened(socket: WebSocket, what: string, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      socket.terminate();
      reject(stoppedError(signal, what));
    };
    signal.addEventListener('abort', onAbort, { once: true });
    socket.once('open', () => {
      signal.removeEventListener('abort', onAbort);
      socket.pause();
      resolve();
    });
    socket.once('unexpected-response', (request, response) => {
      request.destroy();
      reject(new AppError('bmc_error', `${what}: the BMC answered ${response.statusCode}`));
    });
    // before the handshake this is all there will be; later ones precede a `close`
    socket.on('error', (cause) => reject(new AppError('unavailable', what, { cause })));
  });
}

function lineOf(socket: WebSocket): ConsoleLine {
  const drained = new Set<() => void>();
  return {
    onOutput: (listener) => {
      socket.on('message', (data: RawData) => listener(data as Buffer));
      socket.resume();
    },
    write: (bytes) => {
      if (socket.readyState !== socket.OPEN) return true;
      socket.send(bytes, () => {
        if (socket.bufferedAmount < highWaterBytes / 2) for (const listener of drained) listener();
      });
      return socket.bufferedAmount < highWaterBytes;
    },
    onDrain: (listener) => void drained.add(listener),
    resize: () => undefined, // a serial line has no size
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    hangUp: () => closeSocket(socket, 1000, ''),
    ended: new Promise((resolve) => {
      socket.once('close', () => resolve('the BMC closed the console'));
    }),
  };
}
