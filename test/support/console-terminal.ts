import { PassThrough, type Writable } from 'node:stream';
import type { Terminal } from '#conductor/cli/console.ts';

/** Somebody at a terminal of a given size, for `openConsole`. */
export interface TestTerminal {
  readonly terminal: Terminal;
  /** Raw mode is on. */
  isRaw(): boolean;
  type(text: string | Buffer): void;
  resize(columns: number, rows: number): void;
  /** All that the screen got, as text. */
  text(): string;
  /** Resolves with the screen's text as soon as it matches what came after the last match. */
  sees(pattern: RegExp): Promise<string>;
}

export function createTestTerminal(size: { columns: number; rows: number } = { columns: 80, rows: 24 }): TestTerminal {
  let raw = false;
  const input = Object.assign(new PassThrough(), {
    isTTY: true,
    setRawMode: (on: boolean) => {
      raw = on;
    },
  });
  const output: Writable & { isTTY?: boolean; columns: number; rows: number } = Object.assign(new PassThrough(), {
    isTTY: true,
    ...size,
  });
  let bytes = Buffer.alloc(0);
  let seen = 0;
  const watchers = new Set<() => void>();
  output.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    for (const watch of watchers) watch();
  });
  return {
    terminal: { input, output, term: 'xterm-256color' },
    isRaw: () => raw,
    type: (text) => void input.write(text),
    resize: (columns, rows) => {
      Object.assign(output, { columns, rows });
      output.emit('resize');
    },
    text: () => bytes.toString(),
    sees: (pattern) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          watchers.delete(look);
          reject(new Error(`the screen does not show ${pattern}: ${JSON.stringify(bytes.toString())}`));
        }, 60_000);
        const look = (): void => {
          const text = bytes.toString();
          const found = pattern.exec(text.slice(seen));
          if (!found) return;
          seen += found.index + found[0].length;
          clearTimeout(timer);
          watchers.delete(look);
          resolve(text);
        };
        watchers.add(look);
        look();
      }),
  };
}
