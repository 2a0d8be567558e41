import type { ActionRehearsal } from '#conductor/api/rehearsal.ts';
import { actionTable } from '#conductor/model/site/action-table.ts';
import { type ActionRequest, planAction } from '#conductor/sites/actions/create-action.ts';
import { rehearseApart } from '#conductor/sites/rehearsal/apart/rehearse-apart.ts';
import { readFailures } from '#conductor/sites/rehearsal/ask-failures.ts';
import { readOrder } from '#conductor/sites/rehearsal/read-order.ts';
import { viewRehearsal } from '#conductor/sites/rehearsal/view-rehearsal.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface RehearsalRequest {
  readonly action: ActionRequest;
  readonly runs: number;
  /** A whole number below 2³². */
  readonly seed: number;
  /** `n1@deploy.write_image`, `5%` */
  readonly fail: readonly string[];
}

/**
 * Rehearses an action that would be started: what it would come to on the nodes as they are now. Nothing is begun or
 * written.
 * @throws AppError as `createAction` for an action that would be refused; `invalid_argument` for one that can't be
 * rehearsed, or takes too long
 */
export async function rehearseAction(
  context: Parameters<typeof planAction>[0] & Parameters<typeof readOrder>[0],
  { action, runs, seed, fail }: RehearsalRequest,
): Promise<ActionRehearsal> {
  const plan = await planAction(context, action);
  const { name, parameters } = plan;
  if (!actionTable[name].steps.includes('baremetal_nodes')) {
    const names = Object.entries(actionTable).flatMap(([each, { steps }]) =>
      steps.includes('baremetal_nodes') ? [each] : [],
    );
    throw new AppError('invalid_argument', `rehearse: ${name} deploys no nodes; it can be ${names.join(', ')}`);
  }
  if (parameters.dry_run === true) {
    throw new AppError(
      'invalid_argument',
      'parameters.dry_run: a rehearsal starts nothing either; give one of the two',
    );
  }
  const read = await readOrder(lookingOnly(context), plan);
  const failures = readFailures(fail, read.courses);
  const { scene, courses } = read;
  const rehearsed = await rehearseApart({ scene, courses, failures, runs, seed });
  return viewRehearsal({ plan, read, rehearsed, runs, seed });
}

/** Leaves of a conductor's means those that read: no driver, agent or switch is among them. */
function lookingOnly({ clock, config, db, secrets, networks }: Parameters<typeof readOrder>[0]) {
  return { clock, config, db, secrets, networks: { networks: networks.networks } };
}
