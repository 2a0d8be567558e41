import css from '@xterm/xterm/css/xterm.css';
import { Terminal } from '@xterm/xterm/lib/xterm.mjs';
import type { ConsolePlace, OpenTerminal } from '#conductor/board/page/page.ts';
import { addSheet, styleByObjects } from '#conductor/board/terminal-styles.ts';
import type { ConsoleEnd, ConsoleResize } from '#shared/wire/console.ts';

/** The script that is loaded when a console is opened: xterm.js at a WebSocket of the API. */

interface Socket {
  binaryType: string;
  readonly readyState: number;
  send(data: Uint8Array | string): void;
  close(code: number, reason: string): void;
  addEventListener(type: 'open' | 'close', listener: (event: { readonly reason?: string }) => void): void;
  addEventListener(type: 'message', listener: (event: { readonly data: string | ArrayBuffer }) => void): void;
}
declare const WebSocket: new (url: string) => Socket;
declare const ResizeObserver: new (onResize: () => void) => { observe(element: unknown): void; disconnect(): void };

const isOpen = 1;
/** The conductor closes the connection at larger messages. */
const messageBytes = 64 * 1024;
/** A browser takes all that comes: what the terminal can't show in time is left out, and that is said. */
const mostPending = 4_000_000;
const scrollback = 5000;

const openTerminal: OpenTerminal = (place, url) => {
  const terminal = new Terminal({
    scrollback,
    minimumContrastRatio: 4.5,
    // what a machine prints leads nowhere
    linkHandler: { activate: () => undefined },
    theme: { background: '#14171c', foreground: '#e6e9ee' },
  });
  terminal.open(place.parent);
  fit(terminal, place);
  const socket = new WebSocket(`${url}?columns=${terminal.cols}&rows=${terminal.rows}&term=xterm-256color`);
  socket.binaryType = 'arraybuffer';
  const send = (data: Uint8Array | string): void => {
    if (socket.readyState === isOpen) socket.send(data);
  };
  const type = (bytes: Uint8Array): void => {
    for (let at = 0; at < bytes.length; at += messageBytes) send(bytes.subarray(at, at + messageBytes));
  };
  terminal.onData((text) => type(new TextEncoder().encode(text)));
  terminal.onBinary((bytes) => type(Uint8Array.from(bytes, (char) => char.charCodeAt(0))));
  // as in telnet: the Tab key is the shell's
  terminal.attachCustomKeyEventHandler(({ key, ctrlKey }) => {
    if (!(ctrlKey && key === ']')) return true;
    place.onLeave();
    return false;
  });
  const show = shower(terminal);
  let end = 'the connection was lost';
  socket.addEventListener('open', () => terminal.focus());
  socket.addEventListener('message', ({ data }) => {
    if (typeof data === 'string') end = reasonIn(data) ?? end;
    else show(new Uint8Array(data));
  });
  socket.addEventListener('close', ({ reason }) => place.onEnd(reason || end));
  const observer = new ResizeObserver(() => {
    if (!fit(terminal, place)) return;
    const { cols: columns, rows } = terminal;
    send(JSON.stringify({ type: 'resize', columns, rows } satisfies ConsoleResize));
  });
  observer.observe(place.parent);
  return () => {
    observer.disconnect();
    socket.close(1000, 'left by the operator');
    terminal.dispose();
  };
};

function shower(terminal: Terminal): (bytes: Uint8Array) => void {
  const state = { pending: 0, leftOut: 0 };
  const written = (length: number): void => {
    state.pending -= length;
    if (state.pending > 0 || state.leftOut === 0) return;
    terminal.write(`\r\n[${state.leftOut} bytes came too fast and are left out]\r\n`);
    state.leftOut = 0;
  };
  return (bytes) => {
    if (state.leftOut > 0 || state.pending + bytes.length > mostPending) {
      state.leftOut += bytes.length;
      return;
    }
    state.pending += bytes.length;
    terminal.write(bytes, () => written(bytes.length));
  };
}

/** Fits rows and columns to the room that there is. @returns whether that is other than before */
function fit(terminal: Terminal, { parent }: ConsolePlace): boolean {
  const cells = parent.querySelector('.xterm-screen')?.getBoundingClientRect();
  const room = parent.getBoundingClientRect();
  if (!cells || cells.width === 0 || cells.height === 0) return false;
  // beside the scroll bar
  const columns = Math.floor((room.width - 20) / (cells.width / terminal.cols));
  const rows = Math.floor((room.height - 8) / (cells.height / terminal.rows));
  if (columns < 2 || rows < 2 || (columns === terminal.cols && rows === terminal.rows)) return false;
  terminal.resize(Math.min(columns, 1000), Math.min(rows, 1000));
  return true;
}

function reasonIn(text: string): string | undefined {
  const { type, reason } = JSON.parse(text) as Partial<ConsoleEnd>;
  return type === 'end' ? reason : undefined;
}

styleByObjects();
addSheet(css);
Object.assign(globalThis, { openTerminal });
