import { describe, expect, test } from 'vitest';
import { describeActionChanges, renderActionReport } from '#conductor/cli/sites/follow-action.ts';
import { renderAction, renderBar } from '#conductor/cli/sites/render-action.ts';
import {
  actionAnswer,
  groupAnswer,
  nodeAnswer,
  noteAnswer,
  ntpFailed,
  ntpFailedNodes,
} from '#conductor/cli/testing/action-answers.ts';
import { describeRemark, newRemark } from '#conductor/model/remarks/remark-words.ts';

const now = new Date(65_000);
const size = { columns: 100, rows: 40 };

const underWay = actionAnswer({
  groups: [
    groupAnswer('monitoring-nodes', { success: 3 }, { stage: 'success' }),
    groupAnswer('ntp-node', { success: 1 }, { critical: true, stage: 'success' }),
    groupAnswer(
      'control-nodes',
      { success: 1, prepared: 2, failure: 1 },
      { critical: true, depends_on: ['ntp-node'], stage: 'deploying', working: 2 },
    ),
    groupAnswer('compute-nodes-1', { not_started: 4 }, { depends_on: ['control-nodes'] }),
    groupAnswer('compute-nodes-2', {}, { depends_on: ['control-nodes'] }),
  ],
  nodes_by_status: { not_started: 4, prepared: 2, success: 4, failure: 1 },
});
const working = [
  nodeAnswer('control01', { phase: 'deploy', doing: 'deploy.write_image, 40 %' }),
  nodeAnswer('control02', { phase: 'deploy' }),
];

describe('renderAction', () => {
  test('a deploy under way: steps, groups as a tree, nodes at work, nodes by state', () => {
    expect(renderAction(underWay, { now, size, working })).toEqual([
      'deploy_site 01J00000000000000000000000: Processing, revision 3, 1 m 05 s',
      '✓ verify_site  ▶ baremetal_nodes  · final_report',
      '',
      '✓ monitoring-nodes             ████████████████████ 3/3',
      '✓ ntp-node [Critical]          ████████████████████ 1/1',
      '▶ └─ control-nodes [Critical]  █████▒▒▒▒▒▒▒▒▒▒xxxxx 1/4  deploying, 2 at work, 1 failed',
      '·    ├─ compute-nodes-1        ░░░░░░░░░░░░░░░░░░░░ 0/4  not started',
      '·    └─ compute-nodes-2                             0/0  not started',
      '',
      '  control01  deploy  deploy.write_image, 40 %',
      '  control02  deploy',
      'groups: 2 of 5 ended; nodes: 11: 4 success, 2 prepared, 1 failure, 2 not started; 2 at work',
    ]);
  });

  test('who runs it, or that nobody does, and what groups wait for', () => {
    const waiting = groupAnswer('compute', { not_started: 4 }, { waiting_for: ['ntp', 'control'] });
    const idle = groupAnswer('storage', {}, { waiting_for: ['a free slot: 1 of 1 groups at work'] });
    const shown = renderAction({ ...underWay, runner: null, groups: [waiting, idle] }, { now, size });
    expect(shown[0]).toMatch(/, 1 m 05 s, NO CONDUCTOR RUNS IT$/);
    expect(shown[3]).toMatch(/0\/4 {2}not started, waits for ntp, control$/);
    expect(shown[4]).toMatch(/not started, waits for a free slot: 1 of 1 groups at work$/);
    const runner = { conductor: 'a', lease_expires_at: '1970-01-01T00:00:01.000Z', lease_valid: true };
    const headlineOf = (valid: boolean) =>
      renderAction({ ...underWay, runner: { ...runner, lease_valid: valid } }, { now, size })[0];
    expect(headlineOf(true)).toMatch(/, run by a$/);
    expect(headlineOf(false)).toMatch(/, a IS SILENT since its lease ran out at 1970-01-01T00:00:01\.000Z$/);
  });

  test('before there are groups', () => {
    expect(renderAction(actionAnswer({ started_at: null, groups: [] }), { now, size })).toEqual([
      'deploy_site 01J00000000000000000000000: Processing, revision 3',
      '✓ verify_site  ▶ baremetal_nodes  · final_report',
    ]);
  });

  test('on a narrow terminal steps that are done are counted', () => {
    const narrow = { columns: 48, rows: 40 };
    expect(renderAction(underWay, { now, size: narrow })[1]).toBe('✓ 1 done  ▶ baremetal_nodes  · final_report');
  });

  test('200 groups on a small terminal: those at work, failed and next; the rest are counted', () => {
    const groups = Array.from({ length: 200 }, (_, index) => {
      const depends = index === 0 ? [] : [`g${index - 1}`];
      if (index < 50) return groupAnswer(`g${index}`, { success: 5 }, { depends_on: depends, stage: 'success' });
      if (index < 53) return groupAnswer(`g${index}`, { prepared: 5 }, { depends_on: depends, stage: 'deploying' });
      return groupAnswer(`g${index}`, { not_started: 5 }, { depends_on: depends });
    });
    const small = { columns: 80, rows: 16 };
    const many = Array.from({ length: 15 }, (_, index) => nodeAnswer(`n${index}`, { phase: 'deploy' }));
    const lines = renderAction(actionAnswer({ groups, nodes_by_status: { ...noNodes, success: 250 } }), {
      now,
      size: small,
      working: many,
    });
    expect(lines.length).toBeLessThan(small.rows);
    expect(lines.slice(3, 10)).toEqual([
      '▶ g50  ▒▒▒▒▒▒▒▒▒▒ 0/5  deploying',
      '▶ g51  ▒▒▒▒▒▒▒▒▒▒ 0/5  deploying',
      '▶ g52  ▒▒▒▒▒▒▒▒▒▒ 0/5  deploying',
      '· g53  ░░░░░░░░░░ 0/5  not started',
      '· g54  ░░░░░░░░░░ 0/5  not started',
      '  (195 more groups: 50 success, 145 not started)',
      '',
    ]);
    expect(lines.at(-2)).toBe('  (12 more nodes at work)');
    expect(lines.at(-1)).toBe('groups: 50/200; nodes: 250: █ 250 ▒ 0 x 0 ░ 0; 15 at work');
  });

  test.each([
    [{ success: 999, failure: 1 }, '█████████x'],
    [{ success: 1, not_started: 999 }, '█░░░░░░░░░'],
    [{ prepared: 1, not_started: 1 }, '▒▒▒▒▒░░░░░'],
    [{ failure: 3 }, 'xxxxxxxxxx'],
    [{ success: 2, failure: 1 }, '███████xxx'],
    [{ success: 3 }, '██████████'],
  ])('the bar of %j', (counts, bar) => {
    expect(renderBar(groupAnswer('g', counts), 10)).toBe(bar);
  });
});

const noNodes = { not_started: 0, prepared: 0, success: 0, failure: 0 };

describe('renderActionReport', () => {
  test('the seed’s second run', () => {
    expect(renderActionReport(ntpFailed, ntpFailedNodes, now)).toEqual([
      'Group monitoring-nodes ended with stage: success',
      'Group ntp-node [Critical] ended with stage: failure: prepare: 0 of 1 nodes succeeded; minimum_successful_nodes asks for 1, there are 0',
      'Group control-nodes [Critical] ended with stage: failure: due to dependency: ntp-node failed',
      'Nodes: 3 success, 0 prepared, 1 failure, 2 not started',
      '  failure: ntp01: power on: the BMC does not answer',
      '  → baton history ntp01 shows what was done to it',
      '  not started: control01, control02',
      'deploy_site 01J00000000000000000000000: Failed, revision 3, 4 m 05 s: failed due to critical group failed; critical groups failed: ntp-node, control-nodes',
    ]);
  });

  test('failures that are nobody’s ruin, and nodes that are left prepared', () => {
    const action = actionAnswer({
      action_lifecycle: 'Complete',
      ended_at: '1970-01-01T00:00:10.000Z',
      groups: [groupAnswer('g', { prepared: 1, failure: 1 }, { stage: 'failure', reason: 'why' })],
      nodes_by_status: { ...noNodes, prepared: 1, failure: 1 },
    });
    const nodes = [nodeAnswer('a', { status: 'prepared' }), nodeAnswer('b', { status: 'failure' })];
    expect(renderActionReport(action, nodes, now)).toEqual([
      'Group g ended with stage: failure: why',
      'Nodes: 0 success, 1 prepared, 1 failure, 0 not started',
      '  failure: b',
      '  → baton history b shows what was done to it',
      '  prepared: a',
      'deploy_site 01J00000000000000000000000: Complete, revision 3, 10.0 s: success with some nodes/groups failed',
    ]);
  });

  test('nodes that were left as they are, although their documents differ', () => {
    const remark = newRemark('outdated', { revision: 3, differs: ['driver', 'traits'] });
    const nodes = [nodeAnswer('a', { status: 'success', reason: describeRemark(remark), remark })];
    const lines = renderActionReport(actionAnswer({ groups: [groupAnswer('g', { success: 1 })] }), nodes, now);
    expect(lines.slice(-3, -1)).toEqual([
      '1 node stays as it was deployed although its documents differ: a (traits): relabel_nodes brings it in line, without a deploy',
      '1 node stays as it was deployed although its documents differ: a (driver): redeploy_server with target-revision=committed redeploys it',
    ]);
  });

  test('a success in which there was nothing to deploy', () => {
    const ended = { action_lifecycle: 'Complete', nodes_by_status: noNodes } as const;
    const report = (more: Parameters<typeof actionAnswer>[0]) =>
      renderActionReport(actionAnswer({ ...ended, ...more }), [], now).slice(0, -1);
    const nothing = 'Warning there was nothing to deploy: ';
    expect(report({ groups: [] })).toEqual([`${nothing}the strategy of the documents has no groups`]);
    expect(report({ groups: [groupAnswer('g', {}, { stage: 'success' })] })).toEqual([
      'Group g ended with stage: success',
      'Nodes: 0 success, 0 prepared, 0 failure, 0 not started',
      `${nothing}no group of the strategy has a node of the documents (baton site groups shows them)`,
    ]);
    // one that only looks at nodes has neither groups nor anything to deploy
    expect(report({ name: 'verify_site', groups: [], steps: [] })).toEqual([]);
    expect(report({ groups: [], action_lifecycle: 'Failed' })).toEqual([]);
  });

  test('of many names some, and how to see the others', () => {
    const nodes = Array.from({ length: 45 }, (_, index) => nodeAnswer(`n${index}`));
    const action = actionAnswer({
      action_lifecycle: 'Stopped',
      ended_at: '1970-01-01T00:00:10.000Z',
      groups: [groupAnswer('g', { not_started: 45 })],
      nodes_by_status: { ...noNodes, not_started: 45 },
    });
    const lines = renderActionReport(action, nodes, now);
    expect(lines[0]).toBe('Group g is left with stage: not started');
    expect(lines[3]).toBe('  5 more: baton action nodes 01J00000000000000000000000 --status not_started');
    expect(lines[4]).toMatch(/: stopped$/);
  });
});

describe('describeActionChanges', () => {
  test('each change once: steps, new notes in the order of time, the end last', () => {
    const note = (at: number, subject: string | null, text: string) =>
      noteAnswer(String(at), text, { subject, at: new Date(at).toISOString() });
    const [verify, bare] = underWay.steps;
    if (!verify || !bare) throw new Error('no steps');
    const first = { ...underWay, notes: [note(1, null, 'Configdoc revision 3')] };
    expect(describeActionChanges(undefined, first, now)).toEqual([
      'deploy_site 01J00000000000000000000000: Processing',
      'Configdoc revision 3',
      'baremetal_nodes started',
      'verify_site done',
    ]);
    const notes = [note(3, 'ntp01', 'prepare failed: no power'), note(4, 'g', 'Group g ended with stage: failure')];
    const second = {
      ...first,
      action_lifecycle: 'Failed' as const,
      ended_at: '1970-01-01T00:00:10.000Z',
      error: 'critical groups failed: g',
      steps: [verify, { ...bare, state: 'failed' as const, error: 'g', started_at: '1970-01-01T00:00:00.000Z', notes }],
    };
    expect(describeActionChanges(first, second, now)).toEqual([
      'ntp01: prepare failed: no power',
      'Group g ended with stage: failure',
      'baremetal_nodes failed after 1 m 05 s: g',
      'deploy_site 01J00000000000000000000000: Failed',
    ]);
    expect(describeActionChanges(second, second, now)).toEqual([]);
  });
});
