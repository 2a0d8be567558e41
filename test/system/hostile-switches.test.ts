import type { Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { findSwitchDriver } from '#conductor/networks/switches/index.ts';
import { createOvsdbClient } from '#conductor/networks/switches/ovsdb-client.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { forever, startHostileServer } from '#test/simulators/hostile-server.ts';
import { startEosSwitch } from '#test/simulators/switch/eos.ts';
import { startHttpsSwitch } from '#test/simulators/switch/https-server.ts';
import { rpcError } from '#test/simulators/switch/netconf-server.ts';
import { startSwitchServer } from '#test/simulators/switch/switch-server.ts';
import { accessTo } from '#test/simulators/switch/under-test.ts';

/** Switches that mean harm in their own protocols: each call ends with an error that is meant, and nothing grows. */

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

const mebibyte = 1024 * 1024;
const growthBytes = 200 * mebibyte;

/** @throws the error, when it is none that is meant */
async function failureOf(asking: Promise<unknown>): Promise<AppError> {
  const before = process.memoryUsage().rss;
  const error = await asking.then(
    () => new Error('nothing failed'),
    (cause: unknown) => cause,
  );
  if (!(error instanceof AppError) || error.code === 'internal') throw error;
  expect(errorChain(error).length).toBeLessThan(5000);
  expect(process.memoryUsage().rss - before).toBeLessThan(growthBytes);
  return error;
}

const answer = (result: string, error = 'null'): string => `{"id":1,"error":${error},"result":${result}}`;
const saying = (text: string) => (socket: Socket) => void socket.write(text);
const echo = `{"method":"echo","params":["${'x'.repeat(64 * 1024)}"],"id":0}`;

describe('an OVSDB server that', () => {
  test.each([
    ['says nothing', () => undefined, /did not answer transact in 2000 ms/],
    ['answers another question', saying(answer('[]').replace('1', '7')), /did not answer/],
    ['answers with a row for another operation', saying(answer('[{},{},{}]')), /1 operations with 3 results/],
    ['answers with no list', saying(answer('{"length":1}')), /something else than a list/],
    ['answers null', saying(answer('null')), /something else than a list/],
    ['answers deep', saying(`{"id":1,"result":${'['.repeat(100_000)}`), /deeper than 32/],
    ['answers many values', forever('{"id":1,"result":[', '{},'.repeat(10_000)), /more than 400000 values/],
    ['answers a text without end', forever('{"id":1,"result":["', 'x'.repeat(64 * 1024)), /more than \d+ bytes/],
    ['answers an error that is a book', saying(answer('null', `"${'x'.repeat(mebibyte)}"`)), /refused the request: x+/],
    ['answers a result that is a book', saying(answer(`[{"error":"${'x'.repeat(mebibyte)}"}]`)), /refused .*: x+/],
    ['answers half', (socket: Socket) => void socket.end('{"id":1,"res'), /hung up/],
    ['answers what is not JSON', saying('{"id":1,]}'), /broken JSON/],
    ['answers what is not an object', saying('HTTP/1.1 400 Bad Request\r\n\r\n'), /something else than JSON/],
    ['notifies without end', forever('', '{"method":"update","params":[],"id":null}'.repeat(1000)), /did not answer/],
    ['asks for echoes without end', forever('', echo), /did not answer|reads nothing/],
    [
      'asks for echoes that it never reads',
      (socket: Socket) => {
        socket.pause();
        forever('', echo)(socket);
      },
      /reads nothing of what it asks for/,
      120_000,
    ],
    ['hangs up', (socket: Socket) => void socket.destroy(), /hung up|was lost/],
  ])('%s', async (_, behave, message, timeoutMs = 2000) => {
    const server = await startHostileServer(behave);
    stops.push(() => server.close());
    const client = createOvsdbClient(`tcp:127.0.0.1:${server.port}`);
    stops.push(() => client.close());
    const select = [{ op: 'select', table: 'Port', where: [] }];
    const error = await failureOf(client.transact('Open_vSwitch', select, { timeoutMs }));
    expect(errorChain(error)).toMatch(message);
    client.close();
    await expect.poll(() => server.open()).toBe(0);
  });
});

describe('a switch over SSH that', () => {
  test.each([
    ['prints without end after its login', 'login', 'x'.repeat(32 * 1024)],
    ['prints small pieces without end', 'login', 'x'],
    ['always has more', 'login', 'x\n --More-- '],
    ['prints lines that look like prompts', 'command', 'leaf1#\nx'],
    ['prints backspaces without end', 'command', '\b'.repeat(32 * 1024)],
  ] as const)('%s', async (_, from, text) => {
    const eos = await startEosSwitch({ ports: ['Ethernet1'], vlans: [1] });
    stops.push(() => eos.stop());
    eos.faults.flood = { from, text };
    const connection = findSwitchDriver('eos').connect(accessTo(eos));
    stops.push(() => connection.close());
    const error = await failureOf(connection.readPorts(['Ethernet1'], AbortSignal.timeout(5000)));
    expect(errorChain(error)).toMatch(/prints without end|was stopped/);
  });

  test('prints without end while nobody asks is hung up on', async () => {
    const eos = await startEosSwitch({ ports: ['Ethernet1'], vlans: [1] });
    stops.push(() => eos.stop());
    const connection = findSwitchDriver('eos').connect(accessTo(eos));
    stops.push(() => connection.close());
    await connection.readPorts(['Ethernet1']);
    eos.floodNow('x'.repeat(32 * 1024));
    await expect.poll(() => eos.logins.now).toBe(0);
    // the next question logs in again
    await connection.readPorts(['Ethernet1']);
  });
});

const book = 'x'.repeat(mebibyte);

describe('a NETCONF server that', () => {
  test.each([
    [
      'answers an error that is a book',
      rpcError('operation-failed', book),
      /refused get-config: operation-failed: x+$/,
    ],
    ['answers deep', '<a>'.repeat(1000), /deeper than 64/],
    ['answers many elements', `<data>${'<a/>'.repeat(1_000_000)}</data>`, /more than 400000 elements/],
    ['answers what is not XML', '&nbsp;<ok>', /not XML that is read here/],
    ['answers without end', `<data>${'x'.repeat(20 * mebibyte)}</data>`, /has more than \d+ bytes/],
  ])('%s', async (_name, reply, says) => {
    const capabilities = ['base:1.0', 'base:1.1', 'capability:candidate:1.0', 'capability:confirmed-commit:1.1'];
    const hostile = await startSwitchServer({
      netconf: {
        capabilities: capabilities.map((each) => `urn:ietf:params:netconf:${each}`),
        open: () => ({
          answer: ({ name }) => (name === 'get-config' ? reply : rpcError('invalid-value', 'none')),
          end: () => undefined,
        }),
      },
    });
    stops.push(() => hostile.stop());
    const connection = findSwitchDriver('openconfig').connect(hostile.access);
    stops.push(() => connection.close());
    expect((await failureOf(connection.readPorts(['Ethernet1']))).message).toMatch(says);
  });
});

describe('an HTTPS server that', () => {
  test.each([
    ['answers an error that is a book', JSON.stringify({ error: { message: book } }), /refused enable: x+$/],
    ['answers deep', '['.repeat(1000), /deeper than 32/],
    ['answers many values', `{"result":[${'{},'.repeat(500_000)}{}]}`, /more than 400000 values/],
    ['answers what is not JSON', '<html>', /is not what was asked for: <html>/],
    ['answers without end', `"${'x'.repeat(20 * mebibyte)}"`, /more than \d+ bytes/],
  ])('%s', async (_name, body, says) => {
    const hostile = await startHttpsSwitch(() => ({ body }));
    stops.push(() => hostile.stop());
    const connection = findSwitchDriver('eos').connect(hostile.access);
    stops.push(() => connection.close());
    expect((await failureOf(connection.readPorts(['Ethernet1']))).message).toMatch(says);
  });
});
