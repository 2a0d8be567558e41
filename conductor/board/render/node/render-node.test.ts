import { expect, test } from 'vitest';
import type { FlowSummaryView, FlowView } from '#conductor/api/flows.ts';
import { primaryAction } from '#conductor/board/render/board-actions.ts';
import { formatClock, formatMoment } from '#conductor/board/render/clock.ts';
import { html } from '#conductor/board/render/html.ts';
import { drawRate } from '#conductor/board/render/node/draw-rate.ts';
import { arrangeTimeline, segmentsOf } from '#conductor/board/render/node/draw-timeline.ts';
import {
  type NodePicture,
  nodeTabs,
  renderButtons,
  renderNodeHead,
  renderTab,
  renderTabs,
} from '#conductor/board/render/node/render-node.ts';
import { type BoardRow } from '#conductor/board/render/render-board.ts';
import { boardNode } from '#conductor/board/testing/board-node.ts';
import { textOf } from '#conductor/board/testing/text-of.ts';
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
const rest: NodePicture = {
  node,
  row: { flow: undefined, node },
  subject: { node, flow: undefined, onHold: null },
  flow: undefined,
  isRead: true,
  error: undefined,
  history: [],
  hardware: { inventory: undefined, switchPorts: [], receipts: [] },
  logs: undefined,
  mayChange: true,
  plan: undefined,
  rates: [],
};
const failedNode = boardNode({ uuid, name: 'n1', provision_state: 'deploy failed', last_error: 'no such image' });
const failedRow: BoardRow = { flow: undefined, node: failedNode };

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
  const ids = { request_id: 'req-1', global_request_id: 'req-2' };
  const text = textOf(renderTab('now', { ...rest, flow: flow({ steps, boot, ...ids }), history }, now));
  expect(text).toMatch(/Request req-1 .*of req-2 /);
  expect(text).toContain('deploy: running, 2 m 00 s');
  expect(text).toContain('✓ succeeded deploy.write_image agent 1 m 00 s');
  expect(text).toContain(
    '… waiting deploy.prepare_instance_boot conductor 1 m 00 s 2 m 00 s waiting for the agent ( at most 2 m 00 s more )',
  );
  expect(text).toContain('· pending deploy.boot_instance agent template X Skip…');
  expect(text).toContain(`${formatClock('2026-01-01T00:08:05Z')} dhcp 10.1.0.7`);
  expect(text).toContain(`${formatMoment('2026-01-01T00:08:00Z')} available → deploying ada`);
});

test('the health of the machine stands in its head while it is not OK, and among its facts', () => {
  const of = (health: string | null) => {
    const each = boardNode({ uuid, name: 'n1', health });
    const head = renderNodeHead({ flow: undefined, node: each }, { node: each, flow: undefined, onHold: null }, true);
    return [textOf(head), textOf(renderTab('now', { ...rest, node: each }, now))];
  };
  expect(of('Warning')).toEqual([
    expect.stringContaining('power on ⚠ health: Warning'),
    expect.stringContaining('health Warning'),
  ]);
  expect(of('OK')).toEqual([expect.not.stringContaining('health'), expect.stringContaining('health OK')]);
  expect(of(null)).toEqual([expect.not.stringContaining('health'), expect.not.stringContaining('health')]);
});

test('name, status and the next action stand on one line; what there is besides is in a menu', () => {
  const head = renderNodeHead(failedRow, { node: failedNode, flow: undefined, onHold: null }, true);
  expect(textOf(head)).toMatch(/^All nodes n1 ✖ failed deploy failed power on Rebuild .* More /);
  expect(String(head).match(/class="primary"/g)).toHaveLength(1);
});

test.each([
  ['deploy failed', 'rebuild'],
  ['available', 'active'],
  ['manageable', 'provide'],
  ['enroll', 'manage'],
  ['active', undefined],
  ['no state that is known', undefined],
])('of a node in %s the next action is %s', (state, action) => {
  const each = boardNode({ provision_state: state });
  expect(primaryAction({ node: each, flow: undefined, onHold: null })).toBe(action);
});

test('an error stands there once, with advice, commands to copy, and the button', () => {
  const error = 'deploy step deploy.write_image failed: no such image';
  const steps = [
    step({ state: 'failed', error: 'no such image' }),
    step({ step: 'boot_instance', state: 'skipped', started_at: null, ended_at: null, error: `skipped: ${error}` }),
  ];
  const advice = 'Look at the image. Then `baton rebuild n1` tries again.';
  const ended = flow({ steps, state: 'failed', ended_at: '2026-01-01T00:09:00Z', error, advice });
  const subject = { node: failedNode, flow: ended, onHold: null };
  const content = renderTab('now', { ...rest, node: failedNode, row: failedRow, subject, flow: ended }, now);
  const text = textOf(content);
  expect(text.split('no such image')).toHaveLength(2);
  expect(text).toContain('Look at the image. Then baton rebuild n1 tries again.');
  expect(String(content)).toContain('data-copy="baton rebuild n1"');
  expect(String(content)).toContain('id="cause-rebuild"');
});

test('a failure that the node has left behind is no trouble any more', () => {
  const ended = flow({ state: 'failed', ended_at: '2026-01-01T00:09:00Z', error: 'long ago' });
  const active = boardNode({ uuid, name: 'n1', provision_state: 'active' });
  const subject = { node: active, flow: ended, onHold: null };
  const row = { flow: undefined, node: active };
  const html = renderTab('now', { ...rest, node: active, row, subject, flow: ended }, now);
  expect(String(html)).not.toContain('class="cause');
});

test('steps stand on one axis against their usual time; what is left of a flow follows now', () => {
  const steps = [
    step({ usual_seconds: 30 }),
    step({ step: 'tune', state: 'running', started_at: '2026-01-01T00:09:00Z', ended_at: null, usual_seconds: 90 }),
    step({ step: 'boot_instance', state: 'pending', started_at: null, ended_at: null, usual_seconds: 60 }),
  ];
  const { axis, steps: drawn } = arrangeTimeline(flow({ steps }), now);
  const seconds = (span: { from: number; to: number } | undefined) =>
    span && [(span.from - axis.from) / 1000, (span.to - axis.from) / 1000];
  expect(drawn.map(({ actual, usual }) => [seconds(actual), seconds(usual)])).toEqual([
    [
      [0, 60],
      [0, 30],
    ],
    [
      [60, 120],
      [60, 150],
    ],
    [undefined, [150, 210]],
  ]);
  expect(seconds(axis)).toEqual([0, 210]);
});

test('retries and waits of a step are parts of its bar', () => {
  const at = (second: number) => `2026-01-01T00:08:${String(second).padStart(2, '0')}Z`;
  const attempts = [
    { started_at: at(0), waits_since: at(2), reason: 'the BMC is away' },
    { started_at: at(12), waits_since: null, reason: null },
  ];
  const from = Date.parse(at(0));
  const parts = segmentsOf({ attempts, state: 'succeeded' }, { from, to: from + 20_000 });
  expect(parts.map((part) => [(part.from - from) / 1000, (part.to - from) / 1000, part.isWait])).toEqual([
    [0, 2, false],
    [2, 12, true],
    [12, 20, false],
  ]);
  const content = renderTab('now', { ...rest, flow: flow({ steps: [step({ attempts })] }) }, now);
  expect(String(content).match(/<rect class="[\w ]+"/g)).toEqual([
    '<rect class="bar succeeded"',
    '<rect class="bar waiting"',
    '<rect class="bar succeeded"',
  ]);
  expect(textOf(content)).toContain('begun 2 times');
});

test('the steps of a flow that has ended follow nothing, and its axis ends with it', () => {
  const steps = [
    step(),
    step({ step: 'never', state: 'pending', started_at: null, ended_at: null, usual_seconds: 60 }),
  ];
  const ended = flow({ steps, state: 'failed', ended_at: '2026-01-01T00:09:00Z' });
  const { axis, steps: drawn } = arrangeTimeline(ended, now);
  expect(axis.to - axis.from).toBe(60_000);
  expect(drawn[1]).toMatchObject({ actual: undefined, usual: undefined });
});

test('the rate of a write is drawn once there are two samples', () => {
  expect(String(drawRate([{ at: 0, rate: 5e6 }]))).toBe('');
  const drawn = drawRate([
    { at: 0, rate: 5e6 },
    { at: 1000, rate: 10e6 },
  ]);
  expect(String(drawn)).toContain('points="0.0,18.0 240.0,2.0"');
  expect(textOf(drawn)).toBe('10.0 MB/s now, 10.0 MB/s at most');
});

test('a reader can skip nothing', () => {
  const pending = flow({ steps: [step({ step: 'tune', state: 'pending', may_skip: true })] });
  const page = (mayChange: boolean) => String(renderTab('now', { ...rest, flow: pending, mayChange }, now));
  expect([page(true).includes('data-step="'), page(false).includes('data-step="')]).toEqual([true, false]);
});

test('a step that waits for what the card says does not say it again', () => {
  const waits = step({ state: 'waiting', ended_at: null, waiting_for: 'another try after: no answer of leaf1' });
  const text = (more: Partial<NodePicture>) =>
    textOf(renderTab('now', { ...rest, flow: flow({ state: 'waiting', steps: [waits] }), ...more }, now));
  const row = {
    node,
    flow: { ...flow(), status: 'retrying', reason: waits.waiting_for, ended_at: null } as unknown as FlowSummaryView,
  };
  expect(text({ row }).match(/no answer of leaf1/g)).toHaveLength(1);
  expect(text({}).match(/no answer of leaf1/g)).toHaveLength(1);
});

test('logs are read on their tab, and shown once they are read', () => {
  const failed = { ...rest, flow: flow({ state: 'failed' }) };
  expect(String(renderTab('logs', failed, now))).toContain('data-name="logs"');
  const logs = [{ name: 'journal', text: 'the end', bytes: 2_000_000 }];
  const text = textOf(renderTab('logs', { ...failed, logs }, now));
  expect(text).toContain('journal (2.0 MB)');
  expect(text).toContain('its end; the whole is in the download');
});

test('every tab says something before anything is known, and while nothing is read', () => {
  for (const tab of Object.keys(nodeTabs) as (keyof typeof nodeTabs)[]) {
    expect([tab, textOf(renderTab(tab, { ...rest, isRead: false }, now))]).toEqual([tab, 'Reading the node…']);
    // consoles are no text
    expect([tab, textOf(renderTab(tab, rest, now)).length > 5]).toEqual([tab, tab !== 'console']);
  }
  // a refusal is no reading that goes on
  const refused = { ...rest, isRead: false, error: 'the database is away' };
  expect(textOf(renderTab('now', refused, now))).toBe('the database is away It is asked again.');
  const stale = textOf(renderTab('history', { ...rest, error: 'the database is away' }, now));
  expect(stale).toMatch(/^Not up to date: the database is away/);
  expect(textOf(renderTabs(node, 'history'))).toBe('Now History Inventory Logs Console Plan');
  expect(textOf(renderTab('inventory', rest, now))).toContain('baton inspect n1');
});

test('buttons are for who may change something', () => {
  const page = (mayChange: boolean) => String(renderButtons({ node, flow: flow(), onHold: null }, mayChange));
  expect([page(true).includes('<button'), page(false).includes('<button')]).toEqual([true, false]);
});

test('machines’ text stays text', () => {
  const evil = `<script>alert(1)</script>"'&`;
  const broken = { ...node, name: evil, last_error: evil, image: evil, owner: evil, rack: evil, rack_unit: 3 };
  const subject = { node: broken, flow: undefined, onHold: null };
  const picture = {
    ...rest,
    node: broken,
    subject,
    row: { flow: undefined, node: broken },
    flow: flow({ error: evil, advice: evil, steps: [step({ step: evil, state: 'failed', error: evil, note: evil })] }),
    logs: [{ name: evil, text: evil, bytes: evil.length }],
    history: [{ created_at: '2026-01-01T00:08:00Z', severity: 'ERROR', event: evil, user: evil }],
  };
  const tabs = Object.keys(nodeTabs) as (keyof typeof nodeTabs)[];
  const all = [
    renderNodeHead(picture.row, subject, true),
    renderTabs(broken, 'now'),
    ...tabs.map((tab) => renderTab(tab, picture, now)),
  ];
  const text = all.map(String).join('');
  expect(text).not.toContain('<script');
  expect(text).toContain(String(html`<bdi>${evil}</bdi>`));
});

test('a step that an operator aborted is no failure', () => {
  const steps = [step({ state: 'failed', error: "stopped by the operator's 'abort'" })];
  const shown = (state: FlowView['state']) => {
    const ended = flow({ steps, state, ended_at: '2026-01-01T00:09:00Z', error: 'over' });
    const subject = { node: failedNode, flow: ended, onHold: null };
    return String(renderTab('now', { ...rest, node: failedNode, row: failedRow, subject, flow: ended }, now));
  };
  expect(shown('aborted')).toContain('<tr class="aborted">');
  expect(shown('aborted')).toContain('⊘');
  expect(shown('aborted')).not.toContain('bar failed');
  expect(shown('failed')).toContain('bar failed');
});

test('a machine that is not as it was accepted has a card with the words and the commands, whatever it does', () => {
  const about = (attestation: typeof node.attestation) =>
    textOf(renderTab('now', { ...rest, node: boardNode({ ...node, attestation }) }, now));
  const reasons = ['Secure Boot was on and is off (PCR 7)'];
  const changed = about({ verdict: 'changed', reasons, accepted: false, another: false });
  expect(changed).toContain('≠ not trusted attestation the newest boot is not trusted (changed): Secure Boot was on');
  expect(changed).toContain('baton tpm accept n1 FINGERPRINT');
  const accepted = about({ verdict: 'changed', reasons, accepted: true, another: false });
  expect(accepted).not.toContain('not trusted');
  expect(accepted).toContain(`boot changed, accepted since: ${reasons[0]}`);
  expect(about({ verdict: 'trusted', reasons: [], accepted: false, another: false })).toContain('boot trusted');
  expect(about({ verdict: 'trusted', reasons: [], accepted: false, another: true })).toContain('another TPM than its');
  expect(about(null)).not.toContain('boot');
});
