import type { ActionStepAnswer, ValidationAnswer } from '#conductor/api/actions.ts';
import type { FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import type { SiteActionNoteRow } from '#conductor/kernel/db/schema/site-action.ts';
import type { SiteFault } from '#conductor/model/site-fault.ts';

/**
 * What Shipyard's client reads of actions, steps, notes and validations beside the keys that are Baton's own (airshipit/shipyard,
 * `src/bin/shipyard_client/shipyard_client/cli/cli_format_common.py` and `format_utils.py`): without them it prints nothing,
 * or "Unparseable Note". Pure.
 */

/** States of a step in Airflow's words: by `success` and `failed` its client counts. */
export const stepStates: Readonly<Record<FlowStepRow['state'], ActionStepAnswer['state']>> = {
  pending: 'pending',
  running: 'running',
  waiting: 'running',
  succeeded: 'success',
  failed: 'failed',
  skipped: 'skipped',
};

/** Its client takes ids of 26 letters and digits only (`cli/input_checks.py`). */
function paddedId(id: number): string {
  return String(id).padStart(26, '0');
}

export function stepKeys({ step, startedAt, endedAt }: FlowStepRow) {
  return {
    task_id: step,
    start_date: startedAt?.toISOString() ?? null,
    end_date: endedAt?.toISOString() ?? null,
    /** Seconds. */
    duration: startedAt && endedAt ? (endedAt.getTime() - startedAt.getTime()) / 1000 : null,
    /** A step is tried once, and goes on where it was. */
    try_number: 1,
    operator: 'baton',
  };
}

export function noteKeys({ id, actionId, step, text, at }: SiteActionNoteRow) {
  return {
    note_id: paddedId(id),
    assoc_id: step === null ? `action/${actionId}` : `step/${actionId}/${step}`,
    sub_type: step === null ? ('action' as const) : ('step' as const),
    note_val: text,
    note_timestamp: at.toISOString(),
    /** Baton's notes stand for themselves. */
    resolved_url_value: null,
  };
}

export function viewValidations(actionId: string, faults: readonly SiteFault[]): ValidationAnswer[] {
  return faults.map((fault, index) => {
    const { level, name, message, document, path } = fault;
    const where = [document && `${document.schema} ${document.name}`, path].filter((part) => part !== undefined);
    return {
      ...fault,
      id: paddedId(index + 1),
      action_id: actionId,
      validation_name: name,
      details: `${level}: ${where.length > 0 ? `${where.join(', ')}: ` : ''}${message}`,
    };
  });
}
