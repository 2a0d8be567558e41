import type { Hono } from 'hono';
import { beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineCommand } from '#agent/commands/command.ts';
import { CommandRunner } from '#agent/commands/command-runner.ts';
import { commandTable } from '#agent/commands/command-table.ts';
import { createApp } from '#agent/http/app.ts';
import { fakeToken } from '#agent/testing/fake-conductor.ts';
import { fakeServices } from '#agent/testing/fake-services.ts';
import { silentLog } from '#shared/log.ts';

/** Answers of the real agent 10.2.0: captures/agent-api-responses.txt. */
const recorded = {
  unauthorized: { faultcode: 'Client', faultstring: '401 Unauthorized: Token invalid.' },
  notFound: {
    faultcode: 'Client',
    faultstring:
      '404 Not Found: The requested URL was not found on the server. If you entered the URL manually please check your spelling and try again.',
  },
  wrongMethod: {
    faultcode: 'Client',
    faultstring: '405 Method Not Allowed: The method is not allowed for the requested URL.',
  },
  badBody: { faultcode: 'Client', faultstring: '400 Bad Request: Missing or invalid name or params' },
  busy: { faultcode: 'Client', faultstring: 'Agent is busy: executing command slow' },
  missing: { faultcode: 'Client', faultstring: 'Not found: Command Result with id zzz not found.' },
};

const token = `agent_token=${fakeToken}`;

describe('the HTTP API', () => {
  let gate: PromiseWithResolvers<unknown>;
  let app: Hono;

  beforeEach(() => {
    gate = Promise.withResolvers();
    const slow = defineCommand({ kind: 'async', params: z.looseObject({}), run: () => gate.promise });
    const commands = new CommandRunner({ ...commandTable, test: { slow } }, fakeServices(), () => undefined);
    app = createApp({ commands, token: () => fakeToken, startedAt: new Date(1_700_000_000_250), log: silentLog });
  });

  const ask = async (method: string, path: string, body?: unknown) => {
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
    const answer = await app.request(`http://localhost${path}`, {
      method,
      ...(text === undefined ? {} : { body: text }),
    });
    const type = answer.headers.get('content-type') ?? '';
    return {
      status: answer.status,
      location: answer.headers.get('location'),
      body: type.includes('json') ? ((await answer.json()) as Record<string, unknown>) : await answer.text(),
    };
  };

  test('documents', async () => {
    const version = {
      id: 'v1',
      links: [
        { href: 'http://localhost/v1', rel: 'self' },
        { href: 'https://docs.openstack.org/ironic-python-agent/', rel: 'describedby', type: 'text/html' },
      ],
    };
    const root = await ask('GET', '/');
    expect(root).toMatchObject({
      status: 200,
      body: {
        name: 'OpenStack Ironic Python Agent API',
        description: expect.any(String) as unknown,
        versions: [version],
        default_version: version,
      },
    });
    expect((await ask('GET', '/v1/')).body).toEqual({
      commands: [
        { href: 'http://localhost/v1/commands', rel: 'self' },
        { href: 'http://localhost/commands', rel: 'bookmark' },
      ],
      status: [
        { href: 'http://localhost/v1/status', rel: 'self' },
        { href: 'http://localhost/status', rel: 'bookmark' },
      ],
      media_types: [{ base: 'application/json', type: 'application/vnd.openstack.ironic-python-agent.v1+json' }],
      ...version,
    });
  });

  test.each(['/status', '/v1/status'])('%s', async (path) => {
    expect((await ask('GET', path)).body).toEqual({
      started_at: 1_700_000_000.25,
      version: expect.any(String) as unknown,
    });
  });

  test.each([
    ['GET', '/v1', 'http://localhost/v1/'],
    ['GET', '/v1/commands', 'http://localhost/v1/commands/'],
    ['POST', `/v1/commands?wait=true&${token}`, `http://localhost/v1/commands/?wait=true&${token}`],
    ['POST', `/commands?${token}`, `http://localhost/commands/?${token}`],
  ])('%s %s is redirected to its slash, the query kept', async (method, path, location) => {
    expect(await ask(method, path)).toMatchObject({ status: 308, location });
  });

  test.each([
    ['GET', '/v1/commands/'],
    ['GET', '/commands/?agent_token='],
    ['GET', `/v1/commands/zzz?agent_token=${fakeToken}x`],
    ['POST', '/v1/commands/?agent_token=wrong'],
  ])('%s %s needs the token', async (method, path) => {
    expect(await ask(method, path)).toMatchObject({ status: 401, body: recorded.unauthorized });
  });

  test.each(['/nope', '/v1/nope', '/v2/', '/v1/status/', `/v1/commands/a/b?${token}`])(
    '%s is not found',
    async (path) => {
      expect(await ask('GET', path)).toMatchObject({ status: 404, body: recorded.notFound });
    },
  );

  test.each([
    ['DELETE', `/v1/commands/?${token}`],
    ['PUT', `/v1/commands/zzz?${token}`],
    ['POST', '/v1/status'],
    ['POST', '/'],
  ])('%s %s is not allowed', async (method, path) => {
    expect(await ask(method, path)).toMatchObject({ status: 405, body: recorded.wrongMethod });
  });

  test.each([
    [{}],
    [{ name: 'test.slow' }],
    [{ name: 1, params: {} }],
    [{ name: 'test.slow', params: [] }],
    [[]],
    ['null'],
  ])('body %j is refused', async (body) => {
    expect(await ask('POST', `/v1/commands/?${token}`, body)).toMatchObject({ status: 400, body: recorded.badBody });
  });

  test('a body that is not JSON is refused', async () => {
    const answer = await ask('POST', `/v1/commands/?${token}`, '{not json');
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({
      faultcode: 'Client',
      faultstring: expect.stringContaining('400 Bad Request: Failed to decode JSON object: ') as unknown,
    });
  });

  test.each([
    [`{"name":"test.slow","params":{"a":${'['.repeat(70)}`, 'the command has JSON deeper than 64'],
    [`{"name":"test.slow","params":{"a":[${'1,'.repeat(200_000)}1]}}`, 'the command has more than 200000 values'],
  ])('a command of more than it may have is never parsed (%#)', async (body, expected) => {
    expect(await ask('POST', `/v1/commands/?${token}`, body)).toMatchObject({
      status: 400,
      body: { faultstring: `400 Bad Request: ${expected}` },
    });
  });

  test('the largest config drive passes, once and again in image_info; a larger body is refused', async () => {
    const send = (bytes: number): Response | Promise<Response> =>
      app.request(`http://localhost/v1/commands/?${token}`, {
        method: 'POST',
        headers: { 'content-length': String(bytes) },
        body: JSON.stringify({ name: 'standby.sync', params: {} }),
      });
    const base64 = Math.ceil((32 * 1024 * 1024) / 3) * 4;
    expect((await send(2 * base64 + 100_000)).status).toBe(200);
    const refused = await send(100 * 1024 * 1024);
    expect(refused.status).toBe(413);
    expect(await refused.json()).toEqual({
      faultcode: 'Client',
      faultstring: '413 Request Entity Too Large: a command may have 93 MiB; a config drive in it 32 MiB before base64',
    });
  });

  test.each([
    ['noext', 400, 'Invalid command: Command name must be of the form <extension>.<name>'],
    ['nope.x', 404, 'Not found: Extension with id nope not found.'],
    ['deploy.nope', 400, 'Invalid command: Unknown command: nope'],
  ])('command %s', async (name, status, faultstring) => {
    const answer = await ask('POST', `/v1/commands/?${token}`, { name, params: {} });
    expect(answer).toMatchObject({ status, body: { faultcode: 'Client', faultstring } });
  });

  test('a command runs, keeps the agent busy, and is waited for', async () => {
    const started = await ask('POST', `/v1/commands/?wait=false&${token}`, { name: 'test.slow', params: {} });
    const { id } = started.body as { id: string };
    expect(started).toMatchObject({
      status: 200,
      body: { command_name: 'slow', command_status: 'RUNNING', command_error: null, command_result: null },
    });
    const busy = await ask('POST', `/v1/commands/?${token}`, { name: 'standby.sync', params: {} });
    expect(busy).toMatchObject({ status: 409, body: recorded.busy });
    const waiting = ask('GET', `/v1/commands/${id}?wait=TRUE&${token}`);
    gate.resolve({ a: 1 });
    expect((await waiting).body).toMatchObject({ id, command_status: 'SUCCEEDED', command_result: { a: 1 } });
    expect((await ask('GET', `/commands/${id}?${token}`)).body).toMatchObject({ command_status: 'SUCCEEDED' });
    expect((await ask('GET', `/v1/commands/?${token}`)).body).toMatchObject({ commands: [{ id }] });
  });

  test('POST with wait=true answers when the command has ended', async () => {
    gate.resolve('fine');
    const answer = await ask('POST', `/v1/commands/?wait=true&${token}`, { name: 'test.slow', params: {} });
    expect(answer.body).toMatchObject({ command_status: 'SUCCEEDED', command_result: { result: 'slow: fine' } });
  });

  test('an unknown command id is not found', async () => {
    expect(await ask('GET', `/v1/commands/zzz?${token}`)).toMatchObject({ status: 404, body: recorded.missing });
  });

  test('an API without tokens lets all pass', async () => {
    const commands = new CommandRunner(commandTable, fakeServices(), () => undefined);
    const open = createApp({ commands, token: () => undefined, startedAt: new Date(), log: silentLog });
    expect((await open.request('http://localhost/v1/commands/')).status).toBe(200);
  });
});
