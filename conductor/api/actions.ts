import { z } from 'zod';
import { TeardownNode } from '#conductor/api/teardown-plan.ts';
import { type Answer, json, nullableText, RemarkAnswer, uuid, wholeNumber } from '#conductor/api/values.ts';

/**
 * `/api/v1.0/actions`: Shipyard's fields, and ours. Times are ISO 8601. Of an action's fields in two spellings, Shipyard's
 * documents have the one, its client reads the other.
 */

const iso = z.string();
const ended = { started_at: iso.nullable(), ended_at: iso.nullable() };

const Note = z
  .strictObject({
    note_id: z.string().meta({ description: 'A number; since= asks for the notes behind it.' }),
    subject: nullableText,
    verbosity: wholeNumber,
    text: z.string(),
    at: iso,
    assoc_id: z.string(),
    sub_type: z.enum(['action', 'step']),
    note_val: z.string(),
    note_timestamp: iso,
    resolved_url_value: z.null(),
  })
  .meta({ id: 'ActionNote' });
export type ActionNoteAnswer = Answer<typeof Note>;

export const ActionStep = z
  .strictObject({
    id: z.string().meta({ description: 'Its name.' }),
    url: z.string(),
    index: wholeNumber.meta({ description: 'From 1.' }),
    state: z.enum(['pending', 'running', 'success', 'failed', 'skipped']),
    ...ended,
    error: nullableText,
    notes: z.array(Note),
    task_id: z.string(),
    start_date: iso.nullable(),
    end_date: iso.nullable(),
    duration: z.number().nullable().meta({ description: 'Seconds.' }),
    try_number: wholeNumber,
    operator: z.string(),
  })
  .meta({ id: 'ActionStep' });
export type ActionStepAnswer = Answer<typeof ActionStep>;

const fault = {
  level: z.enum(['Error', 'Warning', 'Info']),
  name: z.string().meta({ description: 'Short and stable, for programs: DuplicateGroup.' }),
  message: z.string(),
  document: z
    .strictObject({ schema: z.string(), name: z.string(), collection: z.string().exactOptional() })
    .exactOptional(),
  rule: z.string().exactOptional().meta({ description: 'That was broken: faults with the same rule are the same.' }),
  path: z.string().exactOptional().meta({ description: 'Within the document: data.groups[2].critical.' }),
};

export const siteFault = z.strictObject(fault);

export const ActionValidation = z
  .strictObject({
    ...fault,
    id: z.string().meta({ description: '26 digits: the place, from 1.' }),
    action_id: z.string(),
    validation_name: z.string(),
    details: z.string().meta({ description: 'Level, document, path and message in a line.' }),
  })
  .meta({ id: 'ActionValidation' });
export type ValidationAnswer = Answer<typeof ActionValidation>;

const status = z.enum(['not_started', 'prepared', 'success', 'failure']);
const nodesByStatus = z.strictObject({
  not_started: wholeNumber,
  prepared: wholeNumber,
  success: wholeNumber,
  failure: wholeNumber,
});

const Group = z.strictObject({
  name: z.string(),
  critical: z.boolean(),
  depends_on: z.array(z.string()),
  stage: z.enum(['not_started', 'preparing', 'prepared', 'deploying', 'success', 'failure']),
  reason: nullableText,
  misses: z.array(
    z.strictObject({
      criterion: z.enum(['percent_successful_nodes', 'minimum_successful_nodes', 'maximum_failed_nodes']),
      needed: z.number(),
      actual: z.number(),
    }),
  ),
  waiting_for: z.array(z.string()).meta({
    description:
      'Of one that has not begun: names of groups, or what else; empty = it begins at the next beat. Of one whose nodes are begun in parts: why it begins no further node.',
  }),
  may_skip: z.boolean().meta({ description: 'Whether `skip` has it go past what it waits for now.' }),
  member_count: wholeNumber,
  members: z.array(z.string()).exactOptional().meta({ description: 'With members=true.' }),
  nodes_by_status: nodesByStatus,
  working: wholeNumber.meta({ description: 'Members at work.' }),
  ...ended,
});
export type ActionGroupAnswer = Answer<typeof Group>;

export const ActionNode = z
  .strictObject({
    name: z.string(),
    status,
    phase: z.enum(['prepare', 'deploy']).nullable(),
    group: nullableText,
    doing: nullableText,
    reason: nullableText,
    remark: RemarkAnswer.nullable().meta({ description: 'What doing says, or else reason, as data.' }),
    since: iso.nullable(),
  })
  .meta({ id: 'ActionNode' });
export type ActionNodeAnswer = Answer<typeof ActionNode>;

export const actionName = z.enum([
  'deploy_site',
  'update_site',
  'redeploy_server',
  'teardown_server',
  'relabel_nodes',
  'verify_site',
]);

export const Action = z
  .strictObject({
    id: z.string(),
    name: actionName,
    parameters: json,
    user: nullableText,
    timestamp: iso,
    datetime: iso,
    context_marker: uuid,
    committed_rev_id: wholeNumber,
    allow_intermediate_commits: z.boolean(),
    dag_id: z.string(),
    dag_status: z.string().meta({ description: "The state in Airflow's words." }),
    dag_execution_date: iso.nullable(),
    action_lifecycle: z.enum(['Pending', 'Processing', 'Paused', 'Stopping', 'Stopped', 'Complete', 'Failed']),
    ...ended,
    error: nullableText,
    steps: z.array(ActionStep),
    notes: z.array(Note),
    runner: z
      .strictObject({
        conductor: z.string(),
        lease_expires_at: iso.nullable(),
        lease_valid: z
          .boolean()
          .meta({ description: "By the database's clock; else another conductor may take over." }),
      })
      .nullable()
      .exactOptional()
      .meta({ description: 'Only of one action, not in lists; null: it has ended, or no conductor runs it.' }),
    groups: z.array(Group).exactOptional(),
    nodes_by_status: nodesByStatus
      .exactOptional()
      .meta({ description: 'Each node once, however many groups have it.' }),
    validations: z.array(ActionValidation).exactOptional(),
    command_audit: z.array(z.strictObject({ command: z.string(), user: nullableText, datetime: iso })).exactOptional(),
  })
  .meta({ id: 'Action' });
export type ActionAnswer = Answer<typeof Action>;

/** Answer of a dry run: groups in their order with the nodes that they would have, of a teardown each node's steps. */
export const ActionDryRun = z
  .strictObject({
    dry_run: z.literal(true),
    name: actionName,
    committed_rev_id: wholeNumber,
    max_parallel_groups: wholeNumber,
    groups: z.array(
      z.strictObject({
        name: z.string(),
        critical: z.boolean(),
        depends_on: z.array(z.string()),
        members: z.array(z.string()),
      }),
    ),
    validations: z.array(siteFault),
    nodes: z.array(TeardownNode).exactOptional(),
    remarks: z.array(z.string()).exactOptional(),
    refused: z.string().exactOptional().meta({ description: 'Why the action can only fail, and would be refused.' }),
  })
  .meta({ id: 'ActionDryRun' });
export type ActionDryRun = Answer<typeof ActionDryRun>;

export const SiteStatuses = z.strictObject({
  nodes_provision_status: z.array(z.strictObject({ hostname: z.string(), status: z.string() })).optional(),
  machines_powerstate: z.array(z.strictObject({ hostname: z.string(), power_state: nullableText })).optional(),
});
