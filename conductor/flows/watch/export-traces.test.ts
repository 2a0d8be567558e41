import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { z } from 'zod';
import { exportTraces } from '#conductor/flows/watch/export-traces.ts';
import { type FlowRow, flowEvents, flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { readTraceConfig, traceEnvironment, traceProblems } from '#conductor/kernel/traces/trace-settings.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';
import { startTraceReceiver, type TraceReceiver } from '#test/support/trace-receiver.ts';

let api: TestApi;
let receiver: TraceReceiver;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(async () => {
  await api.reset();
  receiver = await startTraceReceiver();
});
afterEach(() => receiver.close());
afterAll(() => api.close());

const Environment = z.object({ ...traceEnvironment, BATON_CONDUCTOR_NAME: z.string().default('test-host') });
const configOf = (settings: Readonly<Record<string, string>>) => readTraceConfig(Environment.parse(settings), '1.2.3');
const send = async (settings: Readonly<Record<string, string>> = {}): Promise<void> => {
  const config = configOf({ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, ...settings });
  if (!config) throw new Error('no traces are wanted');
  await exportTraces(api.context, config, new AbortController().signal);
};

const ended = new Date(Math.floor(Date.now() / 1000) * 1000);
const at = (seconds: number) => new Date(ended.getTime() - 60_000 + seconds * 1000);

/** A deploy of `n1` whose image was written at the second attempt. */
async function addFlow(more: Partial<FlowRow> = {}, conductor = 'test-host'): Promise<string> {
  const { uuid: nodeUuid } = await api.call('POST', '/v1/nodes', { driver: 'fake-hardware' });
  const { db } = api.context;
  const uuid = randomUUID();
  await db.insert(flows).values({
    uuid,
    nodeUuid,
    kind: 'deploy',
    state: 'succeeded',
    requestedBy: 'ada',
    startedAt: at(0),
    endedAt: ended,
    ...more,
  });
  const steps = [
    { step: 'boot_ramdisk', inBand: false, state: 'succeeded' as const, startedAt: at(0), endedAt: at(20) },
    { step: 'write_image', inBand: true, state: 'succeeded' as const, startedAt: at(20), endedAt: at(50) },
    { step: 'tune', inBand: true, state: 'skipped' as const },
  ].map((step, position) => ({
    uuid: randomUUID(),
    flowUuid: uuid,
    phase: 'main' as const,
    position,
    interface: 'deploy',
    priority: 0,
    origin: 'core' as const,
    ...step,
  }));
  await db.insert(flowSteps).values(steps);
  const [boot, write] = steps;
  const event = (
    stepUuid: string | undefined,
    name: 'started' | 'waiting' | 'succeeded',
    time: Date,
    detail?: string,
  ) => ({
    flowUuid: uuid,
    stepUuid: stepUuid ?? '',
    event: name,
    at: time,
    detail: detail ?? null,
    conductor,
  });
  await db
    .insert(flowEvents)
    .values([
      event(boot?.uuid, 'started', at(0)),
      event(boot?.uuid, 'waiting', at(1), 'first heartbeat'),
      event(boot?.uuid, 'succeeded', at(20)),
      event(write?.uuid, 'started', at(20)),
      event(write?.uuid, 'waiting', at(25), 'another try after: reset'),
      event(write?.uuid, 'started', at(30)),
      event(write?.uuid, 'succeeded', at(50)),
    ]);
  return uuid;
}

test('a flow is a trace, steps are its spans, agent commands are theirs', async () => {
  const uuid = await addFlow();
  await send();
  expect(receiver.faults).toEqual([]);
  expect(new Set(receiver.spans.map(({ traceId }) => traceId))).toEqual(new Set([uuid.replaceAll('-', '')]));
  const names = new Map(receiver.spans.map(({ spanId, name }) => [spanId, name]));
  const nanos = (seconds: number) => `${at(seconds).getTime()}000000`;
  expect(
    receiver.spans.map(({ name, parentSpanId, startTimeUnixNano, endTimeUnixNano }) => [
      name,
      names.get(parentSpanId ?? ''),
      startTimeUnixNano,
      endTimeUnixNano,
    ]),
  ).toEqual([
    ['deploy', undefined, nanos(0), nanos(60)],
    ['deploy.boot_ramdisk', 'deploy', nanos(0), nanos(20)],
    ['deploy.write_image', 'deploy', nanos(20), nanos(50)],
    ['agent deploy.write_image', 'deploy.write_image', nanos(20), nanos(30)],
    ['agent deploy.write_image', 'deploy.write_image', nanos(30), nanos(50)],
  ]);
  expect(receiver.spans[1]?.events.map(({ name, attributes }) => [name, attributes])).toContainEqual([
    'waiting',
    { 'baton.detail': 'first heartbeat' },
  ]);
  expect(receiver.spans[2]?.attributes).toMatchObject({ 'baton.step.attempts': '2', 'baton.step.in_band': true });
  expect(receiver.resources[0]).toEqual({
    'service.name': 'baton',
    'service.version': '1.2.3',
    'service.instance.id': 'test-host',
  });
});

test('a failure is told, with its reason', async () => {
  await addFlow({ state: 'failed', error: 'sha256 differs' });
  await send();
  expect(receiver.spans[0]?.status).toEqual({ code: 2, message: 'sha256 differs' });
});

test('what the collector could not take is sent later, the same, and once', async () => {
  await addFlow();
  receiver.statuses.push(503);
  await expect(send()).rejects.toThrow('answered traces with 503');
  expect(receiver.spans).toEqual([]);
  await send();
  const { length } = receiver.spans;
  await send();
  expect([length, receiver.spans.length]).toEqual([5, 5]);
});

test('what it refuses is given up', async () => {
  await addFlow();
  receiver.statuses.push(400);
  await send();
  await send();
  expect([receiver.headers.length, receiver.spans.length]).toEqual([1, 0]);
});

test('flows of another conductor are its own, until it is late; those under way and old ones are nobody’s', async () => {
  await addFlow({}, 'other-host');
  await addFlow({ state: 'running', endedAt: null });
  await addFlow({ endedAt: new Date(Date.now() - 25 * 3_600_000) });
  await send();
  expect(receiver.spans).toEqual([]);
  await api.context.db.update(flows).set({ endedAt: new Date(Date.now() - 61_000) });
  await send();
  expect(receiver.spans.filter(({ parentSpanId }) => parentSpanId === undefined)).toHaveLength(3);
});

test('headers and attributes are as the settings say', async () => {
  await addFlow();
  await send({
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20X, x-tenant=7',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=lab%2C1',
    OTEL_SERVICE_NAME: 'metal',
  });
  expect(receiver.headers[0]).toMatchObject({ authorization: 'Bearer X', 'x-tenant': '7' });
  expect(receiver.resources[0]).toMatchObject({ 'deployment.environment': 'lab,1', 'service.name': 'metal' });
});

test('there are none unless they are wanted', () => {
  const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/' };
  expect(configOf({})).toBeUndefined();
  expect(configOf({ ...endpoint, OTEL_SDK_DISABLED: 'true' })).toBeUndefined();
  expect(configOf({ ...endpoint, OTEL_TRACES_EXPORTER: 'none' })).toBeUndefined();
  expect(configOf(endpoint)?.url).toBe('http://c:4318/v1/traces');
  expect(configOf({ ...endpoint, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c/x' })?.url).toBe('http://c/x');
});

const pairs = 'must be name=value pairs, percent-encoded, with commas between them';
test.each([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4317', 'must be an http:// or https:// URL'],
  ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'collector:4317', 'must be an http:// or https:// URL'],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', 'must be http/json, what Baton sends'],
  ['OTEL_EXPORTER_OTLP_TIMEOUT', '60000', "must be a whole number (1 to 30000), not '60000'"],
  ['OTEL_TRACES_EXPORTER', 'zipkin', 'must be otlp or none'],
  ['OTEL_SDK_DISABLED', 'yes', 'must be true or false'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'token', pairs],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%zz', pairs],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'a=b%0d%0ac: d', pairs],
])('%s=%s is refused where traces are wanted', (name, value, says) => {
  const given = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', [name]: value };
  expect(traceProblems(Environment.parse(given))).toEqual([expect.stringContaining(`${name}: ${says}`)]);
  for (const off of [{ OTEL_SDK_DISABLED: 'TRUE' }, { OTEL_TRACES_EXPORTER: 'none' }]) {
    expect(traceProblems(Environment.parse({ ...given, ...off }))).toEqual([]);
    expect(configOf({ ...given, ...off })).toBeUndefined();
  }
});

test('the name of the service is what somebody has said', () => {
  const nameOf = (settings: Readonly<Record<string, string>>) =>
    configOf({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', ...settings })?.resource['service.name'];
  const attributes = { OTEL_RESOURCE_ATTRIBUTES: 'service.name=metal' };
  expect(nameOf({})).toBe('baton');
  expect(nameOf(attributes)).toBe('metal');
  expect(nameOf({ ...attributes, OTEL_SERVICE_NAME: 'own' })).toBe('own');
});
