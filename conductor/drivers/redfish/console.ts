import ssh2 from 'ssh2';
import { type RawData, WebSocket } from 'ws';
import { callDeadline, stoppedError } from '#conductor/drivers/call-deadline.ts';
import type { ConsoleInterface, ConsoleLine } from '#conductor/drivers/interfaces.ts';
import { tlsOptions } from '#conductor/drivers/redfish/client/bmc-tls.ts';
import type { RedfishConnection } from '#conductor/drivers/redfish/client/driver-info.ts';
import { ownPath } from '#conductor/drivers/redfish/client/own-path.ts';
import type { SerialConsole } from '#conductor/drivers/redfish/client/schemas.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { fingerprint } from '#shared/peers/host-key.ts';
import { type OutboundRules, outboundLookup, resolveOutbound } from '#shared/peers/outbound-url.ts';
import type { TerminalOptions } from '#shared/terminal/terminal.ts';
import { closeSocket, highWaterBytes } from '#shared/web-socket/web-socket.ts';
import { maxConsoleMessageBytes } from '#shared/wire/console.ts';

/** Means to open a serial console. */
interface LineContext {
  readonly system: RedfishSystem;
  readonly connection: RedfishConnection;
  readonly outbound: OutboundRules | undefined;
  readonly signal: AbortSignal;
}

/** `SerialConsole.WebSocket.ConsoleURI`: the line's bytes as messages, with the login of all requests. */
async function openSocketLine(context: LineContext, uri: string): Promise<ConsoleLine> {
  const { system, connection, outbound, signal } = context;
  const { origin } = system.client;
  const what = `open the serial console at ${origin}`;
  const path = ownPath(uri.replace(/^ws(s?:)/i, 'http$1'), origin);
  if (path === undefined) throw new AppError('bmc_error', `${what}: its ConsoleURI is '${uri}'`);
  const url = new URL(`${origin}${path}`.replace(/^http/, 'ws'));
  const socket = new WebSocket(url, {
    headers: await system.client.login(signal),
    ...tlsOptions(connection),
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

type Offer = NonNullable<NonNullable<SerialConsole['SSH']>>;

/** `SerialConsole.SSH`: the console itself at a port of its own, or a command of the BMC's shell. */
async function openSshLine(context: LineContext, offer: Offer, size: TerminalOptions): Promise<ConsoleLine> {
  const { system, outbound, signal } = context;
  const what = `open the serial console at ${system.client.origin} over SSH`;
  const hostname = new URL(system.client.origin).hostname.replace(/^\[|\]$/g, '');
  const host = outbound ? await resolveOutbound(hostname, outbound) : hostname;
  const client = new ssh2.Client();
  const onAbort = (): void => void client.destroy();
  try {
    signal.throwIfAborted();
    signal.addEventListener('abort', onAbort, { once: true });
    await logIn(context, client, { what, host, port: offer.Port ?? 22 });
    const channel = await openShell(client, size, what);
    const command = offer.SharedWithManagerCLI ? offer.ConsoleEntryCommand : undefined;
    if (command) channel.write(`${command}\r`);
    return shellLine(client, channel);
  } catch (error) {
    client.destroy();
    throw signal.aborted ? stoppedError(signal, what) : error;
  } finally {
    // the time is for opening: an open console has no end
    signal.removeEventListener('abort', onAbort);
  }
}

function logIn(
  { connection }: LineContext,
  client: ssh2.Client,
  { what, host, port }: { readonly what: string; readonly host: string; readonly port: number },
): Promise<void> {
  const { username, password, verifyCa, hostKey } = connection;
  return new Promise((resolve, reject) => {
    let fault: AppError | undefined;
    // anyone who takes any certificate takes any host key
    const hostVerifier = (key: Buffer): boolean => {
      const shown = fingerprint(key);
      if (shown === hostKey || (hostKey === undefined && verifyCa === false)) return true;
      const known = hostKey === undefined ? 'has none' : `has ${hostKey}`;
      const hint = `the BMC shows the host key ${shown}, driver_info.redfish_console_host_key ${known}`;
      fault = new AppError('bmc_error', `${what}: ${hint}; nothing was sent`);
      return false;
    };
    client.once('ready', () => resolve());
    client.on('error', (cause: Error & { readonly level?: string }) => {
      const refused = cause.level === 'client-authentication';
      reject(fault ?? new AppError(refused ? 'bmc_error' : 'unavailable', what, { cause }));
    });
    client.once('close', () => reject(new AppError('unavailable', `${what}: the BMC hung up`)));
    client.on('keyboard-interactive', (_name, _instructions, _language, prompts, finish) => {
      finish(prompts.map(() => password ?? ''));
    });
    client.connect({
      host,
      port,
      username: username ?? '',
      ...(password === undefined ? {} : { password, tryKeyboard: true }),
      readyTimeout: 20_000,
      keepaliveInterval: 20_000,
      hostVerifier,
    });
  });
}

function openShell(
  client: ssh2.Client,
  { term, columns, rows }: TerminalOptions,
  what: string,
): Promise<ssh2.ClientChannel> {
  return new Promise((resolve, reject) => {
    client.shell({ term, cols: columns, rows }, (cause, channel) => {
      if (cause) reject(new AppError('bmc_error', what, { cause }));
      else resolve(channel);
    });
  });
}

function shellLine(client: ssh2.Client, channel: ssh2.ClientChannel): ConsoleLine {
  channel.on('error', () => client.destroy()); // `close` follows
  return {
    onOutput: (listener) => void channel.on('data', (bytes: Buffer) => listener(bytes)),
    write: (bytes) => channel.destroyed || channel.write(bytes),
    onDrain: (listener) => void channel.on('drain', listener),
    resize: (columns, rows) => {
      if (!channel.destroyed) channel.setWindow(rows, columns, 0, 0);
    },
    pause: () => void channel.pause(),
    resume: () => void channel.resume(),
    hangUp: () => client.destroy(),
    ended: new Promise((resolve) => {
      channel.once('close', () => {
        client.destroy();
        resolve('the BMC closed the console');
      });
    }),
  };
}

const openTimeoutMs = 60_000;

/** The system's `SerialConsole` (DMTF ComputerSystem 1.13), over a WebSocket where there is one, else over SSH. */
export function redfishConsole(
  system: RedfishSystem,
  { connection, outbound }: Pick<LineContext, 'connection' | 'outbound'>,
): ConsoleInterface {
  return {
    open: async (size, options) => {
      const { signal } = callDeadline(options, openTimeoutMs);
      const { SerialConsole: offered } = (await system.read(signal)).data;
      const context = { system, connection, outbound, signal };
      const { WebSocket: socket, SSH: ssh } = offered ?? {};
      if (socket?.ServiceEnabled && socket.ConsoleURI) return openSocketLine(context, socket.ConsoleURI);
      if (ssh?.ServiceEnabled) return openSshLine(context, ssh, size);
      throw new AppError(
        'not_supported',
        `the system at ${system.client.origin} offers no serial console over WebSocket or SSH: enable one at the BMC`,
      );
    },
  };
}
