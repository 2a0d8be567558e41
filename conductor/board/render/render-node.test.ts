import { expect, test } from 'vitest';
import type { FlowView } from '#conductor/api/flows.ts';
import { escapeHtml } from '#conductor/board/render/render-board.ts';
import { renderButtons, renderNode } from '#conductor/board/render/render-node.ts';
import { boardNode } from '#conductor/board/testing/board-node.ts';
import { flowView, stepView } from '#conductor/cli/testing/flow-views.ts';

const now = new Date('2026-01-01T00:10:00Z');
const uuid = '11111111-1111-4111-8111-111111111111';
const node = boardNode({ uuid, name: 'n1', provision_state: 'deploying' });
const step = (more: Partial<FlowView['steps'][number]> = {}) =>
  stepView({
    step: 'write_image',
    priority: 80,
    in_band: true,
    state: 'succeeded',
    started_at: '2026-01-01T00:08:00Z',
    ended_at: '2026-01-01T00:09:00Z',
    ...more,
  });
const flow = (more: Partial<FlowView> = {}): FlowView =>
  flowView([step()], { started_at: '2026-01-01T00:08:00Z', ...more });
const rest = { hardware: { inventory: undefined, switchPorts: [], receipts: [] }, logs: undefined, mayChange: true };
const textOf = (html: string) =>
  html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();

test('a node under way: its steps, how far they are, its boot, its history', () => {
  const steps = [
    step(),
    step({
      step: 'prepare_instance_boot',
      in_band: false,
      state: 'waiting',
      started_at: '2026-01-01T00:09:00Z',
      ended_at: null,
      waiting_for: 'the agent',
      wait_until: '2026-01-01T00:12:00Z',
      usual_seconds: 120,
    }),
    step({
      step: 'boot_instance',
      state: 'pending',
      started_at: null,
      ended_at: null,
      reason: 'template X',
      may_skip: true,
    }),
  ];
  const boot = [
    { event: 'dhcp', at: '2026-01-01T00:08:05Z', detail: '10.1.0.7', bytes: null, conductor: 'c' },
  ] as FlowView['boot'];
  const history = [
    { created_at: '2026-01-01T00:08:00Z', severity: 'INFO', event: 'available → deploying', user: 'ada' },
  ];
  const text = textOf(renderNode({ ...rest, node, flow: flow({ steps, boot }), history }, now));
  expect(text).toContain('n1 deploying, power on');
  expect(text).toContain('deploy: running, 2 m 00 s');
  expect(text).toContain('✓ succeeded deploy.write_image agent 1 m 00 s');
  expect(text).toContain(
    '… waiting deploy.prepare_instance_boot conductor 1 m 00 s 2 m 00 s waiting for the agent (at most 2 m 00 s more)',
  );
  expect(text).toContain('· pending deploy.boot_instance agent template X Skip…');
  expect(text).toContain('00:08:05 dhcp 10.1.0.7');
  expect(text).toContain('2026-01-01 00:08:00 available → deploying ( ada )');
});

test('a reader can skip nothing', () => {
  const pending = flow({ steps: [step({ step: 'tune', may_skip: true })] });
  const page = (mayChange: boolean) => renderNode({ ...rest, node, flow: pending, history: [], mayChange }, now);
  expect([page(true).includes('data-step="'), page(false).includes('data-step="')]).toEqual([true, false]);
});

test('logs are offered where a flow has failed, and shown once they are read', () => {
  const failed = { ...rest, node, flow: flow({ state: 'failed' }), history: [] };
  expect(renderNode(failed, now)).toContain('data-name="logs"');
  const logs = [{ name: 'journal', text: 'the end', bytes: 2_000_000 }];
  const text = textOf(renderNode({ ...failed, logs }, now));
  expect(text).toContain('journal (2.0 MB)');
  expect(text).toContain('its end; the whole is in the download');
});

test('buttons are for who may change something', () => {
  const page = (mayChange: boolean) => renderButtons({ node, flow: flow(), onHold: null }, mayChange);
  expect([page(true).includes('<button'), page(false).includes('<button')]).toEqual([true, false]);
});

test('machines’ text stays text', () => {
  const evil = `<script>alert(1)</script>"'&`;
  const picture = {
    ...rest,
    node: { ...node, name: evil, last_error: evil },
    flow: flow({ error: evil, advice: evil, steps: [step({ step: evil, state: 'failed', error: evil })] }),
    logs: [{ name: evil, text: evil, bytes: evil.length }],
    history: [{ created_at: '2026-01-01T00:08:00Z', severity: 'ERROR', event: evil, user: evil }],
  };
  const html = renderNode(picture, now);
  expect(html).not.toContain('<script');
  expect(html).toContain(`<bdi>${escapeHtml(evil)}</bdi>`);
});
