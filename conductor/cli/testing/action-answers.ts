import type { ActionAnswer, ActionGroupAnswer, ActionNodeAnswer, ActionNoteAnswer } from '#conductor/api/actions.ts';
import { textRemark } from '#conductor/model/remarks/remark.ts';
import type { NodeStatus } from '#conductor/model/site/site-run.ts';

/** A deploy of a site under way since the epoch, but for what the test says. */
export function actionAnswer(more: Partial<ActionAnswer> = {}): ActionAnswer {
  return {
    id: '01J00000000000000000000000',
    name: 'deploy_site',
    parameters: {},
    user: null,
    timestamp: '1970-01-01T00:00:00.000Z',
    datetime: '1970-01-01T00:00:00.000Z',
    context_marker: '6f0e2f6e-0000-4000-8000-000000000000',
    committed_rev_id: 3,
    allow_intermediate_commits: false,
    dag_id: 'baton_deploy_site',
    dag_status: 'running',
    dag_execution_date: '1970-01-01T00:00:00.000Z',
    action_lifecycle: 'Processing',
    started_at: '1970-01-01T00:00:00.000Z',
    ended_at: null,
    error: null,
    steps: ['verify_site', 'baremetal_nodes', 'final_report'].map((id, index) => ({
      id,
      url: `/actions/01J00000000000000000000000/steps/${id}`,
      index: index + 1,
      state: (['success', 'running', 'pending'] as const)[index] ?? 'pending',
      started_at: null,
      ended_at: null,
      error: null,
      notes: [],
      task_id: id,
      start_date: null,
      end_date: null,
      duration: null,
      try_number: 1,
      operator: 'baton',
    })),
    notes: [],
    ...more,
  };
}

/** A note of an action as the epoch has it, but for what the test says. */
export function noteAnswer(id: string, text: string, more: Partial<ActionNoteAnswer> = {}): ActionNoteAnswer {
  const at = more.at ?? '1970-01-01T00:00:01.000Z';
  const shipyard = { assoc_id: 'action/1', sub_type: 'action', note_val: text, note_timestamp: at } as const;
  return { note_id: id, subject: null, verbosity: 1, text, at, ...shipyard, resolved_url_value: null, ...more };
}

/** A group that has not begun; its counts are of the members. */
export function groupAnswer(
  name: string,
  counts: Partial<Record<NodeStatus, number>>,
  more: Partial<ActionGroupAnswer> = {},
): ActionGroupAnswer {
  const all = { not_started: 0, prepared: 0, success: 0, failure: 0, ...counts };
  const size = Object.values(all).reduce((sum, each) => sum + each, 0);
  return {
    name,
    critical: false,
    depends_on: [],
    stage: 'not_started',
    reason: null,
    misses: [],
    waiting_for: [],
    may_skip: false,
    member_count: size,
    nodes_by_status: all,
    working: 0,
    started_at: null,
    ended_at: null,
    ...more,
  };
}

export function nodeAnswer(name: string, more: Partial<ActionNodeAnswer> = {}): ActionNodeAnswer {
  const { doing = null, reason = null } = more;
  const words = doing ?? reason;
  const remark = words === null ? null : textRemark(words);
  return { name, status: 'not_started', phase: null, group: null, doing, reason, remark, since: null, ...more };
}

/** The seed's second worked run: ntp-node has failed in prepare. */
export const ntpFailed: ActionAnswer = actionAnswer({
  action_lifecycle: 'Failed',
  dag_status: 'failed',
  ended_at: '1970-01-01T00:04:05.000Z',
  error: 'critical groups failed: ntp-node, control-nodes',
  groups: [
    groupAnswer('monitoring-nodes', { success: 3 }, { stage: 'success' }),
    groupAnswer(
      'ntp-node',
      { failure: 1 },
      {
        critical: true,
        stage: 'failure',
        reason: 'prepare: 0 of 1 nodes succeeded; minimum_successful_nodes asks for 1, there are 0',
      },
    ),
    groupAnswer(
      'control-nodes',
      { success: 1, not_started: 2 },
      {
        critical: true,
        depends_on: ['ntp-node'],
        stage: 'failure',
        reason: 'due to dependency: ntp-node failed',
      },
    ),
  ],
  nodes_by_status: { not_started: 2, prepared: 0, success: 3, failure: 1 },
});

export const ntpFailedNodes: readonly ActionNodeAnswer[] = [
  nodeAnswer('control01'),
  nodeAnswer('control02'),
  nodeAnswer('control03', { status: 'success' }),
  nodeAnswer('monitor01', { status: 'success' }),
  nodeAnswer('monitor02', { status: 'success' }),
  nodeAnswer('ntp01', { status: 'failure', reason: 'power on: the BMC does not answer' }),
];
