import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createOvsdbClient, type OvsdbClient, parseOvsdbEndpoint } from '#conductor/networks/switches/ovsdb-client.ts';

interface Message {
  readonly id: unknown;
  readonly method?: string;
  readonly params?: unknown[];
  readonly result?: unknown;
}

let folder: string;
let server: Server;
let client: OvsdbClient;
let connections: Socket[];
let received: Message[];
/** The server's reaction to a message. */
let script: (message: Message, socket: Socket) => void;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-ovsdb-'));
  connections = [];
  received = [];
  script = (message, socket) => answer(socket, message.id, [{ rows: [] }]);
  server = createServer((socket) => {
    connections.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      // the client writes each message whole, but two may come in one piece
      for (const text of chunk.toString().replaceAll('}{', '}\n{').split('\n')) {
        const message = JSON.parse(text) as Message;
        received.push(message);
        script(message, socket);
      }
    });
  });
  const path = join(folder, 'db.sock');
  await new Promise<void>((resolve) => {
    server.listen(path, resolve);
  });
  client = createOvsdbClient(`unix:${path}`);
});

afterEach(async () => {
  client.close();
  for (const socket of connections) socket.destroy();
  await new Promise((resolve) => {
    server.close(resolve);
  });
  await rm(folder, { recursive: true });
});

const select = { op: 'select', table: 'Port', where: [] };
const answer = (socket: Socket, id: unknown, result: unknown, error: unknown = null): void => {
  socket.write(JSON.stringify({ id, result, error }));
};
const failure = (options = {}, operations = [select]): Promise<unknown> =>
  client.transact('Open_vSwitch', operations, options).catch((error: unknown) => error);

describe('createOvsdbClient', () => {
  test('sends a transaction as RFC 7047 writes it and answers the results', async () => {
    script = (message, socket) => answer(socket, message.id, [{ rows: [{ name: 'p1' }] }, { count: 1 }]);
    const update = { op: 'update', table: 'Port', where: [], row: {} };
    expect(await client.transact('Open_vSwitch', [select, update])).toEqual([{ rows: [{ name: 'p1' }] }, { count: 1 }]);
    expect(received).toEqual([
      { id: expect.any(Number), method: 'transact', params: ['Open_vSwitch', select, update] },
    ]);
  });

  test('puts frames together that come in pieces, even inside a character', async () => {
    script = (message, socket) => {
      const bytes = Buffer.from(
        JSON.stringify({ id: message.id, result: [{ rows: [{ name: 'pört' }] }], error: null }),
      );
      const cut = bytes.indexOf(0xc3) + 1;
      socket.write(bytes.subarray(0, cut));
      setImmediate(() => socket.write(bytes.subarray(cut)));
    };
    expect(await client.transact('Open_vSwitch', [select])).toEqual([{ rows: [{ name: 'pört' }] }]);
  });

  test('matches answers to calls by id, in whatever order and however joined', async () => {
    const asked: Message[] = [];
    script = (message, socket) => {
      asked.push(message);
      if (asked.length < 3) return;
      const answers = asked.map(({ id, params }) =>
        JSON.stringify({ id, result: [{ count: params?.length }], error: null }),
      );
      socket.write(answers.toReversed().join(''));
    };
    const results = await Promise.all([
      client.transact('a', [select]),
      client.transact('b', [select, select]).catch((error: unknown) => error),
      client.transact('c', [select]),
    ]);
    expect(results[0]).toEqual([{ count: 2 }]);
    expect(results[1]).toMatchObject({ code: 'switch_error', message: expect.stringContaining('2 operations with 1') });
    expect(results[2]).toEqual([{ count: 2 }]);
    expect(connections).toHaveLength(1);
  });

  test('answers the server’s keep-alive, and lets notifications pass', async () => {
    script = (message, socket) => {
      if (message.method !== 'transact') return;
      socket.write(JSON.stringify({ id: 'echo', method: 'echo', params: ['x'] }));
      socket.write(JSON.stringify({ id: null, method: 'update', params: [] }));
      answer(socket, message.id, [{ rows: [] }]);
    };
    await client.transact('Open_vSwitch', [select]);
    await expect
      .poll(() => received.find((message) => message.id === 'echo'))
      .toEqual({
        id: 'echo',
        result: ['x'],
        error: null,
      });
  });

  test('names the operation that was refused', async () => {
    script = (message, socket) =>
      answer(socket, message.id, [{ rows: [] }, { error: 'constraint violation', details: 'tag 9999' }, null]);
    const update = { op: 'update', table: 'Port', where: [] };
    expect(await failure({}, [select, update, select])).toMatchObject({
      code: 'switch_error',
      message: expect.stringContaining('at operation 2 of 3 (update Port): constraint violation: tag 9999'),
    });
  });

  test('sees the extra element that says that the commit failed', async () => {
    script = (message, socket) =>
      answer(socket, message.id, [{ count: 1 }, { error: 'referential integrity violation', details: 'row' }]);
    expect(await failure()).toMatchObject({
      code: 'switch_error',
      message: expect.stringContaining('at the commit: referential integrity violation: row'),
    });
  });

  test('calls a wait that did not come a timeout', async () => {
    script = (message, socket) => answer(socket, message.id, [{ error: 'timed out', details: 'where' }]);
    expect(await failure({}, [{ ...select, op: 'wait' }])).toMatchObject({ code: 'timeout' });
  });

  test('reports a refused request', async () => {
    script = (message, socket) => answer(socket, message.id, null, { error: 'unknown database', details: 'x' });
    expect(await failure()).toMatchObject({
      code: 'switch_error',
      message: expect.stringContaining('unknown database: x'),
    });
  });

  test.each([
    ['no list', (id: unknown) => ({ id, result: 7, error: null }), 'something else than a list'],
    ['too few results', (id: unknown) => ({ id, result: [], error: null }), '1 operations with 0 results'],
  ])('reports an answer with %s', async (_name, reply, says) => {
    script = (message, socket) => socket.write(JSON.stringify(reply(message.id)));
    expect(await failure()).toMatchObject({ code: 'switch_error', message: expect.stringContaining(says) });
  });

  test('reports bytes that are not JSON and connects again for the next call', async () => {
    script = (_message, socket) => socket.write('HTTP/1.1 400 Bad Request');
    expect(await failure()).toMatchObject({
      code: 'switch_error',
      message: expect.stringContaining('could not be read'),
    });
    script = (message, socket) => answer(socket, message.id, [{ rows: [] }]);
    expect(await client.transact('Open_vSwitch', [select])).toEqual([{ rows: [] }]);
    expect(connections).toHaveLength(2);
  });

  test('fails every call under way when the server hangs up, and connects again for the next', async () => {
    let asked = 0;
    script = (_message, socket) => {
      asked += 1;
      if (asked === 2) socket.end('{"id":1,"resu');
    };
    const lost = { code: 'unavailable', retryable: true, message: expect.stringContaining('hung up') };
    expect(await Promise.all([failure(), failure()])).toMatchObject([lost, lost]);
    script = (message, socket) => answer(socket, message.id, [{ rows: [] }]);
    expect(await client.transact('Open_vSwitch', [select])).toEqual([{ rows: [] }]);
  });

  test('gives up on a silent server, and asks the next time on a new connection', async () => {
    script = (message, socket) => answer(socket, message.id, [{ rows: [] }]);
    await client.transact('Open_vSwitch', [select]);
    script = () => undefined;
    expect(await failure({ timeoutMs: 50 })).toMatchObject({ code: 'timeout' });
    script = (message, socket) => answer(socket, message.id, [{ rows: [] }]);
    expect(await client.transact('Open_vSwitch', [select])).toEqual([{ rows: [] }]);
    expect(connections).toHaveLength(2);
  });

  test('stops when told to, tells the server, and keeps the connection', async () => {
    const abort = new AbortController();
    script = (message) => {
      if (message.method === 'transact') abort.abort(new Error('enough'));
    };
    expect(await failure({ signal: abort.signal })).toMatchObject({ code: 'aborted', cause: new Error('enough') });
    await expect.poll(() => received.at(-1)).toMatchObject({ method: 'cancel', id: null, params: [received[0]?.id] });
    script = (message, socket) => answer(socket, message.id, [{ rows: [] }]);
    await client.transact('Open_vSwitch', [select]);
    expect(connections).toHaveLength(1);
  });

  test('close fails what is under way', async () => {
    script = () => client.close();
    expect(await failure()).toMatchObject({ code: 'aborted' });
  });

  test('says that nobody is there', async () => {
    client = createOvsdbClient(`unix:${folder}/absent.sock`);
    expect(await failure()).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('could not be made'),
    });
  });
});

describe('parseOvsdbEndpoint', () => {
  test.each([
    ['unix:/run/db.sock', { path: '/run/db.sock' }],
    ['tcp:127.0.0.1:6640', { host: '127.0.0.1', port: 6640 }],
    ['tcp:switch.example:1', { host: 'switch.example', port: 1 }],
    ['tcp:[2001:db8::1]:65535', { host: '2001:db8::1', port: 65_535 }],
  ])('%s', (endpoint, target) => {
    expect(parseOvsdbEndpoint(endpoint)).toEqual(target);
  });

  test.each([
    '',
    'unix:',
    'unix:db.sock',
    'tcp:host',
    'tcp:host:0',
    'tcp:host:65536',
    'tcp:2001:db8::1:6640',
    'host:1',
  ])('refuses "%s"', (endpoint) => {
    expect(() => parseOvsdbEndpoint(endpoint)).toThrow(/is not of the form unix:\/run/);
  });

  test('says that ssl is not supported', () => {
    expect(() => parseOvsdbEndpoint('ssl:127.0.0.1:6640')).toThrow('ssl is not supported');
  });
});
