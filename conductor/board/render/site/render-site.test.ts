import { expect, test } from 'vitest';
import { nothing } from '#conductor/board/render/html.ts';
import { drawGraph } from '#conductor/board/render/site/draw-graph.ts';
import { renderDryRun } from '#conductor/board/render/site/render-dry-run.ts';
import { renderSite } from '#conductor/board/render/site/render-site.ts';
import { textOf } from '#conductor/board/testing/text-of.ts';
import { buttonsFor } from '#conductor/board/views/site-view.ts';
import {
  actionAnswer,
  groupAnswer,
  noteAnswer,
  ntpFailed,
  ntpFailedNodes,
} from '#conductor/cli/testing/action-answers.ts';

const now = new Date('1970-01-01T00:10:00Z');
const hostile = '<script>alert(1)</script>';
const picture = (action = ntpFailed) => ({
  actions: [action],
  action,
  failed: ntpFailedNodes.filter(({ status }) => status === 'failure'),
  working: [],
  uuidOf: () => 'u1',
});

test('an action that failed says by which groups, criteria and nodes', () => {
  const [head = nothing, graph = nothing, groups = nothing, rest = nothing] = renderSite(picture(), now);
  expect(textOf(head)).toContain('deploy_site ✖ Failed');
  expect(textOf(head)).toContain('critical groups failed: ntp-node, control-nodes');
  expect(textOf(head)).toContain('3 of 6 nodes done, 0 prepared, 1 failed , 2 not begun; 3 of 3 groups ended');
  expect(String(graph).match(/<g class="failure critical"/g)).toHaveLength(2);
  expect(textOf(groups)).toContain('due to dependency: ntp-node failed');
  expect(String(rest)).toContain('href="#node/');
});

test('groups that wait say for what, and nobody who runs it is said', () => {
  const waits = groupAnswer('b', { not_started: 2 }, { depends_on: ['a'], waiting_for: ['a'] });
  const action = actionAnswer({ runner: null, groups: [groupAnswer('a', { success: 1 }), waits] });
  const [head = nothing, graph = nothing, groups = nothing] = renderSite(picture(action), now);
  expect(textOf(head)).toContain('no conductor runs it');
  expect(String(graph)).toContain('<path class="waits"');
  expect(textOf(groups)).toContain('waits for a');
});

test('what documents, machines and people say stays text', () => {
  const group = groupAnswer(hostile, { failure: 1 }, { reason: hostile, depends_on: [hostile] });
  const action = actionAnswer({
    id: `"${hostile}`,
    user: hostile,
    error: hostile,
    groups: [group],
    notes: [noteAnswer('1', hostile, { subject: hostile })],
    command_audit: [{ command: hostile, user: hostile, datetime: hostile }],
  });
  expect(renderSite({ ...picture(action), uuidOf: () => hostile }, now).join('')).not.toMatch(/<script|="[^"]*<script/);
  const html = renderDryRun({
    dry_run: true,
    name: 'deploy_site',
    committed_rev_id: 1,
    max_parallel_groups: 1,
    groups: [{ name: hostile, critical: true, depends_on: [], members: [hostile] }],
    validations: [{ level: 'Error', name: hostile, message: hostile, document: { schema: hostile, name: hostile } }],
  });
  expect(String(html)).not.toContain('<script');
});

test('a group that counts as done with nodes that failed is not green, nor is its action', () => {
  const group = groupAnswer('g', { success: 10, failure: 2 }, { stage: 'success' });
  const whole = groupAnswer('h', { success: 1 }, { stage: 'success' });
  const counts = { not_started: 0, prepared: 0, success: 11, failure: 2 };
  const action = actionAnswer({ action_lifecycle: 'Complete', groups: [group, whole], nodes_by_status: counts });
  const [head = nothing, graph = nothing, groups = nothing] = renderSite(picture(action), now);
  expect(textOf(head)).toContain('◐ Complete, 2 failed');
  expect(String(head)).toContain('class="pill slow"');
  expect(String(graph).match(/<g class="success( partial)?/g)).toEqual([
    '<g class="success partial',
    '<g class="success',
  ]);
  expect(String(groups).match(/<tr class="\w+"/g)).toEqual(['<tr class="slow"', '<tr class="succeeded"']);
  expect(textOf(groups)).toContain('10 of 12, 2 failed');
});

test('a bar shows one failure of ten thousand, and is no longer than its box', () => {
  const counts = { not_started: 0, prepared: 1, success: 9998, failure: 1 };
  const graph = drawGraph([
    { name: 'g', critical: false, depends_on: [], member_count: 10_000, nodes_by_status: counts },
  ]);
  const bars = [...String(graph).matchAll(/class="bar (\w+)" x="([\d.]+)" y="\d+" width="([\d.]+)"/g)];
  expect(bars.map(([, kind]) => kind)).toEqual(['success', 'prepared', 'failure']);
  for (const [, , x, width] of bars) {
    expect(Number(width)).toBeGreaterThanOrEqual(3);
    expect(Number(x) + Number(width)).toBeLessThanOrEqual(178.1);
  }
});

test('what may be done is what the conductor would do', () => {
  const names = (action?: ReturnType<typeof actionAnswer>, actions = action ? [action] : []) =>
    buttonsFor({ action, actions }).map(({ name }) => name);
  expect(names()).toEqual(['start']);
  expect(names(actionAnswer())).toEqual(['pause', 'stop']);
  expect(names(actionAnswer({ action_lifecycle: 'Paused' }))).toEqual(['unpause', 'stop']);
  const held = groupAnswer('b', { not_started: 2 }, { may_skip: true });
  expect(names(actionAnswer({ groups: [held] }))).toEqual(['pause', 'skip', 'stop']);
  expect(names(actionAnswer({ action_lifecycle: 'Stopping' }))).toEqual([]);
  expect(names(ntpFailed)).toEqual(['start']);
  expect(names(ntpFailed, [actionAnswer(), ntpFailed])).toEqual([]);
});
