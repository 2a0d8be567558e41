import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ConductorProcess, prepareConductor } from '#test/support/conductor.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { startTraceReceiver, type TraceReceiver } from '#test/support/trace-receiver.ts';

/** Traces of a conductor that is killed amid a flow. */

const timeout = 240_000;
let receiver: TraceReceiver;
let conductor: ConductorProcess;
let operator: Operator;

beforeAll(async () => {
  receiver = await startTraceReceiver();
  conductor = await prepareConductor({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=7',
  });
  await conductor.start();
  operator = createOperator(conductor.url);
}, timeout);
afterAll(async () => {
  await conductor.close();
  await receiver.close();
});

test('a flow that two lives of a conductor worked on is one trace', { timeout }, async () => {
  await operator.call('POST', '/v1/nodes', { name: 'n1', driver: 'fake-hardware', driver_info: { fake_id: 'n1' } });
  await operator.provision('n1', 'manage');
  await operator.waitForState('n1', 'manageable');
  const hold = { interface: 'deploy', step: 'hold', args: {} };
  await operator.provision('n1', 'clean', { clean_steps: [hold], disable_ramdisk: true });
  await expect.poll(async () => (await operator.node('n1'))['provision_state'], { timeout }).toBe('clean hold');
  await conductor.kill('SIGKILL');
  receiver.statuses.push(503);
  await conductor.start();
  await operator.provision('n1', 'unhold');
  await operator.waitForState('n1', 'manageable');
  const flow = await operator.call('GET', '/v1/nodes/n1/flow');
  const traceId = String(flow['uuid']).replaceAll('-', '');
  const spans = () => receiver.spans.filter((span) => span.traceId === traceId).map(({ name }) => name);
  await expect.poll(spans, { timeout }).toEqual(['manual_clean', 'deploy.hold', 'deploy.leave_network']);
  await expect
    .poll(
      () =>
        receiver.spans
          .filter(({ parentSpanId }) => parentSpanId === undefined)
          .map(({ name }) => name)
          .sort(),
      { timeout },
    )
    .toEqual(['manual_clean', 'verify']);
  expect(receiver.faults).toEqual([]);
  expect(receiver.headers.every((headers) => headers['x-key'] === '7')).toBe(true);
});
