import type { WebSocket } from 'ws';
import { closeSocket, highWaterBytes } from '#shared/web-socket/web-socket.ts';
import { ConsoleResize } from '#shared/wire/console.ts';

/** A terminal line, whatever is at its other end. */
export interface Line {
  onOutput(listener: (bytes: Buffer) => void): void;
  /** Input. `false`: the line hasn't taken it yet, `onDrain` is called when it has. */
  write(bytes: Buffer): boolean;
  onDrain(listener: () => void): void;
  resize(columns: number, rows: number): void;
  /** Output is left at the other end, which waits as soon as what is between is full. */
  pause(): void;
  resume(): void;
  /** The line is cut: a program and all that it has started in its session end. */
  hangUp(): void;
}

/** A program behind a terminal of its own. */
export interface Terminal extends Line {
  /** The program's process id; it leads its session. */
  readonly pid: number;
  /** The program has ended and all that it wrote was passed on. */
  onExit(listener: (exitCode: number) => void): void;
}

export interface TerminalOptions {
  readonly columns: number;
  readonly rows: number;
  /** `$TERM` */
  readonly term: string;
}

/** @throws AppError `not_supported` where there can be no terminal */
export type OpenTerminal = (options: TerminalOptions) => Promise<Terminal>;

/** Passes on both directions, in the messages of `shared/wire/console.ts`; a closed socket hangs up. */
export function joinSocket(line: Line, socket: WebSocket): void {
  line.onOutput((bytes) => {
    if (socket.readyState !== socket.OPEN) return;
    socket.send(bytes, () => {
      if (socket.bufferedAmount < highWaterBytes / 2) line.resume();
    });
    if (socket.bufferedAmount > highWaterBytes) line.pause();
  });
  line.onDrain(() => socket.readyState === socket.OPEN && socket.resume());
  socket.on('message', (data, isBinary) => {
    if (isBinary) {
      if (!line.write(data as Buffer)) socket.pause();
      return;
    }
    const resize = ConsoleResize.safeParse(parseJson((data as Buffer).toString()));
    if (resize.success) line.resize(resize.data.columns, resize.data.rows);
    else closeSocket(socket, 1008, 'a text message must be {"type":"resize","columns":…,"rows":…}');
  });
  socket.once('close', () => line.hangUp());
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // fails its schema
  }
}
