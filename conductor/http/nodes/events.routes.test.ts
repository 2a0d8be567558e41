import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { FleetNode, fleetEvents } from '#conductor/api/events.ts';
import { dataOf } from '#conductor/flows/watch/read-changed-nodes.ts';
import { createFleetWatch } from '#conductor/flows/watch/watch-fleet.ts';
import { createApp } from '#conductor/http/app.ts';
import { listen } from '#conductor/http/listen.ts';
import { openEventStream } from '#conductor/http/nodes/event-stream.ts';
import { openApiCaller } from '#conductor/kernel/caller.ts';
import { nodeTpms } from '#conductor/kernel/db/schema/tpm.ts';
import { fleetNodeFields } from '#conductor/model/fleet-node.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
/** Two conductors on one database. */
let apps: ReturnType<typeof createApp>[] = [];
const tokens = new Map<string, string>();

beforeAll(async () => {
  api = await openTestApi({ settings: { BATON_AUTH: 'token' } });
  apps = [createApp(api.context), createApp(api.context)];
  for (const project of [undefined, 'ours', 'theirs', 'short']) {
    const { token } = await api.context.auth.tokens.create({ name: project ?? 'admin', role: 'admin', project });
    tokens.set(project ?? 'admin', token);
  }
});
afterAll(() => api.close());

interface Event {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Reads a stream of events until one fits. */
function readEvents(body: ReadableStream<Uint8Array>) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const seen: Event[] = [];
  let text = '';
  const next = async (): Promise<boolean> => {
    const { value, done } = await reader.read();
    text += decoder.decode(value, { stream: true });
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
      const event = field('event') as keyof typeof fleetEvents | undefined;
      if (event === undefined) continue; // the time to wait before it is opened again
      const data: Event['data'] = fleetEvents[event].parse(JSON.parse(field('data') ?? '{}'));
      seen.push({ event, id: field('id'), data });
    }
    return !done;
  };
  return {
    seen,
    until: async (fits: (event: Event) => boolean): Promise<Event> => {
      for (;;) {
        const found = seen.find(fits);
        if (found) return found;
        if (!(await next())) throw new Error(`the stream has ended: ${JSON.stringify(seen)}`);
      }
    },
    lastId: () => seen.findLast(({ id }) => id !== undefined)?.id ?? '',
    close: () => reader.cancel(),
  };
}

async function follow(who: string, { at = 0, lastId }: { at?: number; lastId?: string } = {}) {
  const answer = await apps[at]?.request('http://api.example/v1/events', {
    headers: {
      Authorization: `Bearer ${tokens.get(who)}`,
      ...(lastId === undefined ? {} : { 'Last-Event-ID': lastId }),
    },
  });
  if (!answer?.body) throw new Error(`answered with ${answer?.status}`);
  expect(answer.headers.get('content-type')).toBe('text/event-stream');
  return readEvents(answer.body);
}

const asAdmin = (method: string, path: string, body?: unknown) =>
  api.call(method, path, body, undefined, { Authorization: `Bearer ${tokens.get('admin')}` });
const enrol = async (name: string, owner: string) =>
  (await asAdmin('POST', '/v1/nodes', { name, driver: 'fake-hardware', owner })).uuid;
const maintain = (name: string, reason: string) => asAdmin('PUT', `/v1/nodes/${name}/maintenance`, { reason });
const isNode =
  (uuid: string, reason: string) =>
  ({ event, data }: Event): boolean =>
    event === 'node' && data['uuid'] === uuid && data['maintenance_reason'] === reason;

test('a node’s event says its rack and traits, too, when they change', async () => {
  const uuid = await enrol('placed', 'ours');
  const admin = await follow('admin');
  await admin.until(({ event }) => event === 'hello');
  const isPlaced = (rack: string | null, ...traits: string[]) =>
    admin.until(
      ({ event, data }) =>
        event === 'node' &&
        data['uuid'] === uuid &&
        data['owner'] === 'ours' &&
        data['rack'] === rack &&
        JSON.stringify(data['traits']) === JSON.stringify(traits),
    );
  const patch = (path: string, value: unknown) => asAdmin('PATCH', '/v1/nodes/placed', [{ op: 'add', path, value }]);
  await patch('/extra/rack', 7);
  await isPlaced('7');
  await patch('/properties/rack', 'r<1>');
  await isPlaced('r<1>');
  await asAdmin('PUT', '/v1/nodes/placed/traits', { traits: ['CUSTOM_B', 'CUSTOM_A'] });
  await isPlaced('r<1>', 'CUSTOM_A', 'CUSTOM_B');
  expect(admin.seen.map(({ event }) => event)).not.toContain('reload');
  await admin.close();
});

test('a verdict on a boot comes to the owner, and to no lessee', async () => {
  const uuid = await enrol('attested', 'ours');
  await asAdmin('PATCH', '/v1/nodes/attested', [{ op: 'add', path: '/lessee', value: 'theirs' }]);
  const [ours, theirs] = [await follow('ours'), await follow('theirs')];
  await Promise.all([ours, theirs].map((each) => each.until(({ event }) => event === 'hello')));
  const reasons = ['Secure Boot was on and is off (PCR 7)'];
  await api.context.db.insert(nodeTpms).values({ nodeUuid: uuid, ekPublic: '', verdict: 'changed', reasons });
  const attestation = { verdict: 'changed', reasons, accepted: false, another: false };
  const isAttested = ({ data }: Event) => data['uuid'] === uuid && data['attestation'] !== null;
  expect((await ours.until(isAttested)).data['attestation']).toEqual(attestation);
  await maintain('attested', 'later');
  await theirs.until(isNode(uuid, 'later'));
  expect(theirs.seen.filter(isAttested)).toEqual([]);
  await Promise.all([ours.close(), theirs.close()]);
});

test('changes come as states, to whom they are visible, and resume at another conductor', async () => {
  const mine = await enrol('mine', 'ours');
  const other = await enrol('other', 'theirs');
  const [admin, ours] = [await follow('admin'), await follow('ours')];
  await admin.until(({ event }) => event === 'hello');
  await maintain('other', 'one');
  await maintain('mine', 'two <script>');
  await admin.until(isNode(other, 'one'));
  await ours.until(isNode(mine, 'two <script>'));
  expect(JSON.stringify(ours.seen)).not.toContain(other);

  // watched there before, so it knows what has changed since
  await (await follow('admin', { at: 1 })).close();
  await maintain('mine', 'three');
  await admin.until(isNode(mine, 'three'));
  await admin.until(({ event, id }) => event === 'beat' && id !== undefined);
  const lastId = admin.lastId();
  await admin.close();
  await maintain('mine', 'four');
  const resumed = await follow('admin', { at: 1, lastId });
  await resumed.until(isNode(mine, 'four'));
  expect(resumed.seen.map(({ event }) => event)).not.toContain('reload');
  expect(resumed.seen.filter(isNode(other, 'one'))).toEqual([]);

  // from one owner to the other
  const theirs = await follow('theirs');
  await asAdmin('PATCH', '/v1/nodes/mine', [{ op: 'replace', path: '/owner', value: 'theirs' }]);
  await ours.until(({ event, data }) => event === 'gone' && data['uuid'] === mine);
  await theirs.until(isNode(mine, 'four'));
  await Promise.all([resumed.close(), ours.close(), theirs.close()]);
});

test('a flow is told of while it goes on, and its node when it is deleted', async () => {
  const uuid = await enrol('flowing', 'ours');
  const stream = await follow('ours');
  await asAdmin('PUT', '/v1/nodes/flowing/states/provision', { target: 'manage' });
  const { data } = await stream.until(({ event, data: flow }) => event === 'flow' && flow['node_uuid'] === uuid);
  expect(data).toMatchObject({ kind: 'verify', node_name: 'flowing' });
  await api.context.db.execute(sql`delete from flows where node_uuid = ${uuid}`);
  await stream.until(({ event, data: flow }) => event === 'gone' && flow['uuid'] === data['uuid']);
  await api.context.db.execute(sql`delete from nodes where uuid = ${uuid}`);
  await stream.until(({ event, data: node }) => event === 'gone' && node['uuid'] === uuid);
  await stream.close();
});

test('who comes with an id that nobody knows reloads', async () => {
  for (const lastId of ['1', 'nonsense', '-1', '999999999999999']) {
    const stream = await follow('admin', { lastId });
    await stream.until(() => true);
    expect(stream.seen[0]).toMatchObject({ event: 'reload' });
    await stream.close();
  }
});

test('a reader whose connection ends is let go', async () => {
  const ends: string[] = [];
  const stopping = new AbortController();
  const watch = {
    start: () => Promise.resolve({ readAt: 1, missed: undefined, stop: () => undefined }),
  };
  const open = () =>
    openEventStream({
      watch,
      project: undefined,
      since: undefined,
      isAllowed: () => Promise.resolve(true),
      stopping: stopping.signal,
      onEnd: () => ends.push('end'),
    });
  const server = await listen(async () => new Response(await open()), {
    host: '127.0.0.1',
    port: 0,
    stopping: stopping.signal,
  });
  const leaving = new AbortController();
  const left = await fetch(server.url, { signal: leaving.signal });
  expect(left.status).toBe(200);
  leaving.abort();
  await waitUntil('the end of the stream', () => ends[0], { everyMs: 20 });
  // nor does an open one hold up the conductor's stop
  const stays = await fetch(server.url);
  stopping.abort();
  expect(await stays.text()).toContain('event: bye');
  await server.close();
  expect(ends).toHaveLength(2);
});

test('a reader that takes nothing for a minute loses its place', async () => {
  vi.useFakeTimers();
  try {
    const ends: string[] = [];
    const open = () =>
      openEventStream({
        watch: { start: () => Promise.resolve({ readAt: 1, missed: undefined, stop: () => undefined }) },
        project: undefined,
        since: undefined,
        isAllowed: () => Promise.resolve(true),
        stopping: new AbortController().signal,
        onEnd: () => ends.push('end'),
      });
    const idle = await open();
    const reads = (await open()).getReader();
    const seen: string[] = [];
    const reading = (async () => {
      for (;;) seen.push(new TextDecoder().decode((await reads.read()).value));
    })();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(ends).toEqual([]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(ends).toEqual(['end']);
    await expect(idle.getReader().read()).rejects.toThrow('takes nothing');
    expect(seen.filter((text) => text.includes('event: beat')).length).toBeGreaterThanOrEqual(11);
    void reading;
  } finally {
    vi.useRealTimers();
  }
});

test('callers without a login are counted by address', async () => {
  const app = createApp({ ...api.context, auth: { ...api.context.auth, unproven: openApiCaller } });
  const open: (ReadableStream<Uint8Array> | null)[] = [];
  const ask = async (remoteAddress: string): Promise<number> => {
    const answer = await app.request('http://api.example/v1/events', {}, { incoming: { socket: { remoteAddress } } });
    open.push(answer.body);
    return answer.status;
  };
  for (let count = 0; count < 50; count += 1) expect(await ask('192.0.2.1')).toBe(200);
  expect(await ask('192.0.2.1')).toBe(503);
  expect(await ask('192.0.2.2')).toBe(200);
  for (const body of open) await body?.cancel();
});

test('strangers get none', async () => {
  expect(await api.call('GET', '/v1/events')).toMatchObject({ status: 401 });
});

test('a slow reader is kept the last states only, and then told to reload', async () => {
  const stopping = new AbortController();
  const ends: string[] = [];
  const hear = { put: undefined as Parameters<ReturnType<typeof createFleetWatch>['start']>[1] | undefined };
  const stream = await openEventStream({
    watch: {
      start: (_since, put) => {
        hear.put = put;
        return Promise.resolve({ readAt: 1, missed: undefined, stop: () => ends.push('stop') });
      },
    },
    project: undefined,
    since: undefined,
    isAllowed: () => Promise.resolve(true),
    stopping: stopping.signal,
    onEnd: () => ends.push('end'),
  });
  const described = (await asAdmin('GET', `/v1/nodes/${await enrol('behind', 'ours')}`)).body;
  const common = Object.fromEntries(fleetNodeFields.map((field) => [field, described[field] ?? null]));
  const change = (uuid: string, turn = 0) => {
    const body = dataOf('node', FleetNode.parse({ ...common, uuid, last_error: `turn ${turn}` }));
    return { before: undefined, now: { kind: 'node' as const, uuid, body, owner: null, lessee: null } };
  };
  // the first of them is taken at once, to be ready
  hear.put?.([change('first')], 2);
  const events = readEvents(stream);
  await events.until(() => true);
  for (let turn = 0; turn < 100; turn += 1) hear.put?.([change('a', turn)], turn);
  await events.until(({ data }) => data['last_error'] === 'turn 99');
  expect(events.seen.filter(({ data }) => data['uuid'] === 'a').length).toBeLessThanOrEqual(2);
  hear.put?.(
    Array.from({ length: 5000 }, (_, place) => change(`n${place}`)),
    200,
  );
  await events.until(({ event }) => event === 'reload');
  stopping.abort();
  await events.until(({ event }) => event === 'bye');
  expect(ends).toContain('end');
});

test('it ends with its login', async () => {
  const stream = await follow('short');
  await stream.until(({ event }) => event === 'hello');
  await api.context.auth.tokens.remove('short');
  await stream.until(({ event }) => event === 'logout');
  expect(stream.seen.at(-1)?.event).toBe('logout');
});
