import type { Readable, Writable } from 'node:stream';
import { WebSocket } from 'ws';
import { type ApiClient, noNode } from '#conductor/cli/shell/api-client.ts';
import type { ClientSettings } from '#conductor/cli/shell/client-settings.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { closeSocket, highWaterBytes, keepAlive } from '#shared/web-socket/web-socket.ts';
import { ConsoleEnd, type ConsoleResize } from '#shared/wire/console.ts';

export interface Filtered {
  /** Bytes that go to the shell. */
  readonly bytes: Buffer;
  /** The person at the keyboard wants to leave. */
  readonly isLeaving: boolean;
}

const tilde = 0x7e;
const dot = 0x2e;
const newline = new Set([0x0a, 0x0d]);

/**
 * ssh's way out of a shell that does not answer any more: `~.` at the beginning of a line leaves, `~~` there sends one
 * tilde. A tilde at the beginning of a line is held back until the next key.
 */
export function createEscapeFilter(): (chunk: Buffer) => Filtered {
  let place: 'line start' | 'after tilde' | 'in line' = 'line start';
  return (chunk) => {
    const bytes: number[] = [];
    for (const byte of chunk) {
      if (place === 'line start' && byte === tilde) {
        place = 'after tilde';
        continue;
      }
      if (place === 'after tilde') {
        if (byte === dot) return { bytes: Buffer.from(bytes), isLeaving: true };
        bytes.push(tilde);
        if (byte === tilde) {
          place = 'in line';
          continue;
        }
      }
      bytes.push(byte);
      place = newline.has(byte) ? 'line start' : 'in line';
    }
    return { bytes: Buffer.from(bytes), isLeaving: false };
  };
}

/** Where the person sits: `process.stdin` and `process.stdout`, or streams without a terminal. */
export interface Terminal {
  readonly input: Readable & { isTTY?: boolean; setRawMode?(raw: boolean): unknown };
  readonly output: Writable & { isTTY?: boolean; columns?: number; rows?: number };
  /** `$TERM` */
  readonly term: string | undefined;
}

/** The operator's word in the node's history. */
const leftReason = 'left by the operator';

const endOfTransmission = Buffer.from([4]);

/**
 * `baton console NODE`: joins the seat with a shell in the node's ramdisk until the shell ends (Ctrl-D, `exit`), the
 * conductor ends it, or the person leaves with `~.`.
 * @throws AppError in the conductor's words when there is no console; `aborted` when it was ended from there;
 * `command_failed` when the shell ended with another code than 0
 */
export async function openConsole(
  { client, settings }: { readonly client: ApiClient; readonly settings: ClientSettings },
  ident: string,
  terminal: Terminal,
  kind: 'shell' | 'serial' = 'shell',
): Promise<void> {
  const path = `/v1/nodes/${ident}/console/${kind}`;
  // a refused WebSocket has a status and no text; this answer says in words whether and why not
  if (!(await client.call('GET', path))) throw noNode(ident);
  const target = new URL(`${settings.url.replace(/^http/, 'ws')}${path}`);
  const { columns, rows } = terminal.output;
  const query = { columns, rows, term: terminal.term };
  for (const [name, value] of Object.entries(query)) if (value) target.searchParams.set(name, String(value));
  const socket = await dial(target, settings);
  keepAlive(socket);
  const end = await converse(socket, terminal);
  if (end.exit_code === undefined) throw new AppError('aborted', `the console was closed: ${end.reason}`);
  if (end.exit_code !== 0) throw new AppError('command_failed', end.reason);
}

function dial(target: URL, { authorization, authorities, insecure }: ClientSettings): Promise<WebSocket> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(target, {
      perMessageDeflate: false,
      ...(authorization === undefined ? {} : { headers: { Authorization: authorization } }),
      ...(authorities === undefined ? {} : { ca: authorities }),
      rejectUnauthorized: !insecure,
    });
    socket.once('open', () => {
      socket.pause();
      resolve(socket);
    });
    // before the handshake this is all there will be; later ones precede a `close`
    socket.on('error', (cause) => reject(new AppError('unavailable', `open a console at ${target.href}`, { cause })));
  });
}

/** Both directions, until the connection is closed. The terminal is given back as it was. */
async function converse(socket: WebSocket, terminal: Terminal): Promise<Omit<ConsoleEnd, 'type'>> {
  const isTerminal = terminal.input.isTTY === true;
  if (isTerminal) terminal.output.write('(~. at the beginning of a line leaves)\r\n');
  const detach = attachInput(socket, terminal, isTerminal);
  const onResize = (): void => sendSize(socket, terminal.output);
  terminal.output.on('resize', onResize);
  try {
    return await receive(socket, terminal.output);
  } finally {
    terminal.output.off('resize', onResize);
    detach();
  }
}

function attachInput(socket: WebSocket, { input }: Terminal, isTerminal: boolean): () => void {
  const filter = createEscapeFilter();
  const send = (bytes: Buffer): void => {
    if (bytes.length === 0 || socket.readyState !== socket.OPEN) return;
    socket.send(bytes, () => {
      if (socket.bufferedAmount < highWaterBytes / 2) input.resume();
    });
    if (socket.bufferedAmount > highWaterBytes) input.pause();
  };
  const onData = (chunk: Buffer): void => {
    if (!isTerminal) {
      send(chunk);
      return;
    }
    const { bytes, isLeaving } = filter(chunk);
    send(bytes);
    if (isLeaving) closeSocket(socket, 1000, leftReason);
  };
  const onEnd = (): void => send(endOfTransmission); // a script on standard input ends: so does the shell
  if (isTerminal) input.setRawMode?.(true);
  input.on('data', onData);
  input.on('end', onEnd);
  return () => {
    input.off('data', onData);
    input.off('end', onEnd);
    if (isTerminal) input.setRawMode?.(false);
    input.pause(); // it would keep the process alive
  };
}

function sendSize(socket: WebSocket, { columns, rows }: Terminal['output']): void {
  if (!columns || !rows || socket.readyState !== socket.OPEN) return;
  socket.send(JSON.stringify({ type: 'resize', columns, rows } satisfies ConsoleResize));
}

function receive(socket: WebSocket, output: Writable): Promise<Omit<ConsoleEnd, 'type'>> {
  return new Promise((resolve) => {
    let end: Omit<ConsoleEnd, 'type'> | undefined;
    socket.on('message', (data, isBinary) => {
      if (!isBinary) {
        end = ConsoleEnd.safeParse(parseJson((data as Buffer).toString())).data ?? end;
      } else if (!output.write(data)) {
        socket.pause();
        output.once('drain', () => socket.resume());
      }
    });
    socket.once('close', (code, reason) => {
      const why = reason.toString();
      if (end) resolve(end);
      else if (why === leftReason) resolve({ reason: why, exit_code: 0 });
      else resolve({ reason: why || (code === 1006 ? 'the connection was lost' : `code ${code}`) });
    });
    socket.resume();
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // fails its schema
  }
}
