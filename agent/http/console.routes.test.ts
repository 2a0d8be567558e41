import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { CommandRunner } from '#agent/commands/command-runner.ts';
import { createApp } from '#agent/http/app.ts';
import { startServer } from '#agent/serve/server.ts';
import { fakeServices } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import type { OpenTerminal, Terminal } from '#shared/terminal/terminal.ts';

/** Over real sockets, with a terminal that only notes what it is told. */
function fakeTerminal() {
  const events: string[] = [];
  const listeners: { output?: (bytes: Buffer) => void; exit?: (code: number) => void; drain?: () => void } = {};
  const terminal: Terminal = {
    pid: 1,
    onOutput: (listener) => void (listeners.output = listener),
    onExit: (listener) => void (listeners.exit = listener),
    onDrain: (listener) => void (listeners.drain = listener),
    write: (bytes) => events.push(`write ${bytes.toString()}`) > 0,
    resize: (columns, rows) => void events.push(`resize ${columns} ${rows}`),
    pause: () => void events.push('pause'),
    resume: () => undefined,
    hangUp: () => {
      events.push('hang up');
      listeners.exit?.(129);
    },
  };
  return { events, listeners, terminal };
}

async function withAgent(
  options: { readonly token?: string | undefined; readonly openTerminal: OpenTerminal },
  use: (agent: {
    readonly url: string;
    readonly stop: AbortController;
    readonly close: () => Promise<void>;
  }) => Promise<void>,
): Promise<void> {
  const stop = new AbortController();
  const app = createApp({
    commands: new CommandRunner({}, fakeServices(), () => undefined),
    token: () => ('token' in options ? options.token : 'secret'),
    startedAt: new Date(0),
    log: silentLog,
    console: { openTerminal: options.openTerminal, log: silentLog, say: () => undefined, signal: stop.signal },
  });
  const server = await startServer(app, { host: '127.0.0.1', port: 0 }, undefined);
  try {
    await use({ url: `ws://127.0.0.1:${server.port}/v1/console`, stop, close: () => server.close() });
  } finally {
    stop.abort();
    await server.close().catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ERR_SERVER_NOT_RUNNING') throw error;
    });
  }
}

/** Texts are messages in full, bytes as text. */
async function connect(url: string) {
  const socket = new WebSocket(url);
  const messages: string[] = [];
  socket.on('message', (data) => messages.push((data as Buffer).toString()));
  const closed = once(socket, 'close').then(([code]) => code as number);
  closed.catch(() => undefined); // of a refused one `open` tells
  await once(socket, 'open');
  return { socket, messages, closed };
}

describe('/v1/console', () => {
  test('is for who has the token, and for nobody where there is none', async () => {
    const openTerminal: OpenTerminal = () => Promise.reject(new Error('must not be opened'));
    await withAgent({ openTerminal }, async ({ url }) => {
      await expect(connect(url)).rejects.toThrow('401');
      await expect(connect(`${url}?agent_token=wrong`)).rejects.toThrow('401');
      await expect(connect(`${url}?agent_token=secret&columns=0`)).rejects.toThrow('400');
      const plain = await fetch(`${url.replace('ws', 'http')}?agent_token=secret`);
      expect([plain.status, await plain.json()]).toMatchObject([426, { faultcode: 'Client' }]);
    });
    await withAgent({ token: undefined, openTerminal }, async ({ url }) => {
      await expect(connect(url)).rejects.toThrow('404');
    });
  });

  test('joins the socket with the terminal; hangs up when the socket closes', async () => {
    const { events, listeners, terminal } = fakeTerminal();
    const sizes: unknown[] = [];
    const openTerminal: OpenTerminal = (options) => {
      sizes.push(options);
      return Promise.resolve(terminal);
    };
    await withAgent({ openTerminal }, async ({ url }) => {
      const { socket, messages, closed } = await connect(`${url}?agent_token=secret&columns=100&rows=30&term=linux`);
      socket.send(Buffer.from('ls\r'));
      socket.send('{"type":"resize","columns":90,"rows":20}');
      await expect.poll(() => events).toEqual(['write ls\r', 'resize 90 20']);
      listeners.output?.(Buffer.from('files'));
      await expect.poll(() => messages).toEqual(['files']);
      expect(sizes).toEqual([{ columns: 100, rows: 30, term: 'linux' }]);
      socket.close(1000);
      await closed;
      await expect.poll(() => events.at(-1)).toBe('hang up');
    });
  });

  test('tells the end: of the shell, of the agent, of a terminal that does not open, of nonsense', async () => {
    const ends = async (
      terminal: OpenTerminal,
      act: (parts: Awaited<ReturnType<typeof connect>>, stop: AbortController) => unknown,
    ) => {
      let seen: unknown;
      await withAgent({ openTerminal: terminal }, async ({ url, stop }) => {
        const parts = await connect(`${url}?agent_token=secret`);
        await act(parts, stop);
        const code = await parts.closed;
        seen = [code, ...parts.messages];
      });
      return seen;
    };
    const { listeners, terminal, events } = fakeTerminal();
    const opened: OpenTerminal = () => Promise.resolve(terminal);
    const whenServed = async (act: () => void): Promise<void> => {
      await expect.poll(() => listeners.exit).toBeDefined();
      act();
    };
    expect(await ends(opened, () => whenServed(() => listeners.exit?.(3)))).toEqual([
      1000,
      '{"type":"end","reason":"the shell ended with 3","exit_code":3}',
    ]);
    expect(await ends(opened, (_, stop) => stop.abort())).toEqual([1001, '{"type":"end","reason":"the agent stops"}']);
    expect(await ends(opened, ({ socket }) => socket.send('{"type":"paste"}'))).toEqual([1008]);
    expect(await ends(opened, ({ socket }) => socket.send(Buffer.alloc(300 * 1024)))).toEqual([1009]);
    expect(events.filter((event) => event.startsWith('write'))).toEqual([]);
    const refusing: OpenTerminal = () => Promise.reject(new AppError('not_supported', 'open a terminal for /bin/sh'));
    expect(await ends(refusing, () => undefined)).toEqual([
      1011,
      '{"type":"end","reason":"open a terminal for /bin/sh"}',
    ]);
  });
});
