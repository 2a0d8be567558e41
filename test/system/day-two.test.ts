import { Writable } from 'node:stream';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { parseMetrics } from '#test/support/parse-metrics.ts';
import { startWebhookReceiver, type WebhookReceiver } from '#test/support/webhook-receiver.ts';

/** One deploy of a simulated machine, as those see it who run Baton: metrics, webhooks, history, log. */

type Line = Readonly<Record<string, unknown>> & { readonly msg: string };

let conductor: ConductorInProcess;
let machine: SimulatedNode;
let receiver: WebhookReceiver;
let operator: Operator;
let uuid: string;
const lines: Line[] = [];

const sink = new Writable({
  write: (chunk: Buffer, _encoding, done) => {
    for (const text of chunk.toString().trim().split('\n')) lines.push(JSON.parse(text) as Line);
    done();
  },
});

beforeAll(async () => {
  receiver = await startWebhookReceiver();
  conductor = await startConductorInProcess({ log: pino({ level: 'debug' }, sink) });
  operator = createOperator(conductor.url);
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac: '52:54:00:dd:00:01' });
  const webhook = await operator.call('POST', '/v1/webhooks', { name: 'hook', url: receiver.url });
  receiver.secret = String(webhook['secret']);
  // away at first, for two tries
  receiver.answers = [503, 500];
  await enrolSimulatedNode(operator, machine, 'one');
  uuid = String((await operator.node('one'))['uuid']);
  await operator.provision('one', 'active');
  await operator.waitForState('one', 'active');
});
afterAll(async () => {
  await conductor.close();
  await machine.close();
  await receiver.close();
});

const deliveries = async () =>
  (await operator.call('GET', '/v1/webhooks/hook/deliveries'))['deliveries'] as {
    event_id: string;
    state: string;
    attempts: number;
  }[];
/** Lists the events that were taken, in the order in which they came. */
const taken = () => receiver.events.filter(({ status }) => status === 204);

test('metrics show the deploy', async () => {
  const answer = await fetch(`${conductor.url}/metrics`);
  expect(answer.headers.get('content-type')).toContain('text/plain; version=0.0.4');
  const samples = parseMetrics(await answer.text());
  expect(samples.get('baton_nodes{provision_state="active",maintenance="false",conductor_group=""}')).toBe(1);
  expect(samples.get('baton_flow_duration_seconds_count{kind="deploy",state="succeeded"}')).toBe(1);
  const written = 'kind="deploy",step="deploy.write_image",outcome="succeeded"';
  expect(samples.get(`baton_step_duration_seconds_count{${written}}`)).toBe(1);
  const powered = 'driver="redfish",call="set power state",outcome="done"';
  expect(samples.get(`baton_bmc_call_duration_seconds_count{${powered}}`)).toBeGreaterThan(0);
  expect(samples.get('baton_agent_heartbeats_total{outcome="taken"}')).toBeGreaterThan(1);
  expect(samples.get('baton_hop_duration_seconds_count')).toBeGreaterThan(0);
  expect(samples.get('baton_database_up')).toBe(1);
  const beat = 'method="POST",route="/v1/heartbeat/:node",status="202"';
  expect(samples.get(`baton_http_request_duration_seconds_count{${beat}}`)).toBeGreaterThan(1);
});

test('webhooks hear of it in order, though the first tries failed', async () => {
  await expect.poll(async () => (await deliveries()).every(({ state }) => state === 'delivered')).toBe(true);
  const all = (await deliveries()).toReversed();
  expect(all[0]?.attempts).toBe(3);
  expect(receiver.events.slice(0, 3).map(({ id }) => id)).toEqual(Array.from({ length: 3 }, () => all[0]?.event_id));
  expect(taken().map(({ id }) => id)).toEqual(all.map(({ event_id: id }) => id));
  expect(taken().every(({ node }) => node?.uuid === uuid && node.name === 'one')).toBe(true);
  const reported = taken().map(({ type, data }) =>
    type === 'node.provision_state'
      ? `${String(data['from'])} → ${String(data['to'])}`
      : `${type} ${String(data['kind'])}`,
  );
  expect(reported.slice(reported.indexOf('available → deploying'))).toEqual([
    'available → deploying',
    'node.flow_started deploy',
    'node.flow_succeeded deploy',
    'deploying → active',
  ]);
});

test('a conductor that dies between event and delivery loses none', async () => {
  receiver.answers = [500];
  const before = taken().length;
  let isOver = false;
  conductor.atCheckpoints((name) => {
    if (isOver || name !== 'started') return 'go on';
    isOver = true;
    return 'die';
  });
  await operator.provision('one', 'deleted');
  await operator.waitForState('one', 'available');
  expect(conductor.deaths()).toBe(1);
  await expect.poll(async () => (await deliveries()).every(({ state }) => state === 'delivered')).toBe(true);
  const all = (await deliveries()).toReversed();
  const ids = taken().map(({ id }) => id);
  // at least once: the same event may come twice, none is missing, and the first of each come in order
  expect([...new Set(ids)]).toEqual(all.map(({ event_id: id }) => id));
  expect(ids.length).toBeGreaterThan(before);
});

test('the history says what was asked for, and how it ended', async () => {
  await operator.call('PATCH', '/v1/nodes/one', [
    { op: 'add', path: '/driver_info/agent_spare_password', value: 'hunter2hunter2' },
    { op: 'add', path: '/extra/rack', value: 'r7' },
  ]);
  await operator.call('PUT', '/v1/nodes/one/traits', { traits: ['CUSTOM_GOLD'] });
  await operator.call('PUT', '/v1/nodes/one/management/boot_device', { boot_device: 'pxe', persistent: false });
  const { history } = await operator.call('GET', '/v1/nodes/one/history?detail=true');
  const events = (history as { event: string; event_type: string }[]).map(
    ({ event_type: type, event }) => `${type}: ${event}`,
  );
  expect(events).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^change: port 52:54:00:dd:00:01 created$/),
      expect.stringMatching(/^flow: deploy succeeded after \d+ s$/),
      expect.stringMatching(/^change: changed \/driver_info\/agent_spare_password, \/extra\/rack$/),
      'change: traits set: CUSTOM_GOLD',
      'change: boot device pxe set for the next boot',
    ]),
  );
  expect(JSON.stringify(history)).not.toContain('hunter2');
});

test('every line of the log about the machine says which, and in a flow which step', () => {
  const ofNode = lines.filter((line) => line['node'] !== undefined);
  expect(ofNode.length).toBeGreaterThan(20);
  for (const line of ofNode) expect(line['node']).toMatch(/^[0-9a-f-]{36}$/);
  // what speaks of a step, or of a flow, says of which
  for (const line of lines.filter(({ msg }) => /\bstep\b/.test(msg))) {
    expect(line).toMatchObject({ node: uuid, flow: expect.any(String), step: expect.stringMatching(/^\w+\.\w+$/) });
  }
  for (const line of lines.filter(({ msg }) => /\bflow\b/.test(msg) && !/old flows/.test(msg))) {
    expect(line).toMatchObject({ node: uuid, flow: expect.any(String) });
  }
  for (const line of lines.filter(({ msg }) => msg === 'BMC call')) expect(line['node']).toBe(uuid);
  const started = lines.filter(({ msg }) => msg === 'step started').map((line) => line['step']);
  expect(started).toEqual(expect.arrayContaining(['deploy.deploy', 'deploy.write_image', 'deploy.boot_instance']));
  const request = lines.find((line) => line.msg === 'request' && line['method'] === 'PUT');
  expect(request).toMatchObject({
    level: 30,
    route: '/v1/nodes/:node/states/provision',
    status: 202,
    durationMs: expect.any(Number),
    requestId: expect.stringMatching(/^req-/),
  });
});
