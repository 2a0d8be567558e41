import { listActionSteps, recordStep } from '#conductor/flows/actions/action-store.ts';
import type { SiteActionStepRow } from '#conductor/kernel/db/schema/site-action.ts';
import type { ActionStepName } from '#conductor/model/action-table.ts';
import { type ActionWork, awaitGo, isLasting, record, type StepEnd } from '#conductor/sites/actions/action-work.ts';
import { endAction } from '#conductor/sites/actions/end-action.ts';
import { addNotes } from '#conductor/sites/actions/note-store.ts';
import { actionSteps } from '#conductor/sites/actions/steps/index.ts';
import { errorChain, errorCode } from '#shared/errors/app-error.ts';

/**
 * Runs a claimed action from where its steps say that it is, to its end.
 * @throws whatever passes: the caller tries again; AppError `lease_lost`
 */
export async function runAction(work: ActionWork): Promise<void> {
  const { context, action, signal } = work;
  for (;;) {
    signal.throwIfAborted();
    const steps = await listActionSteps(context.db, [action.id]);
    const next = steps.find(({ state }) => state === 'pending' || state === 'running');
    const name = next && (next.name as ActionStepName);
    // nodes at work are looked after in a pause too, and when it ends their time is prolonged: by the step itself
    const isDeploying = next?.name === 'baremetal_nodes' && next.state === 'running';
    const wanted = isDeploying ? 'run' : await awaitGo(work);
    if (name === undefined || name === 'tag_revision') {
      await endAction(work);
      return;
    }
    if (!isDeploying && isSkipped(name, steps, wanted)) await recordEnd(work, name, { state: 'skipped' });
    else await runStep(work, name);
  }
}

/** After a failure, or a stop, there is nothing left to do but to tell. */
function isSkipped(name: ActionStepName, steps: readonly SiteActionStepRow[], wanted: 'run' | 'stop'): boolean {
  if (name === 'final_report') return false;
  return wanted === 'stop' || steps.some(({ state }) => state === 'failed');
}

async function runStep(work: ActionWork, name: Exclude<ActionStepName, 'tag_revision'>): Promise<void> {
  const { context, action } = work;
  const { id: actionId } = action;
  await record(work, (tx) => recordStep(tx, { actionId, name }, { state: 'running' }));
  context.log.info({ action: actionId, step: name }, 'step of a site action begins');
  await recordEnd(work, name, await tryStep(work, name));
}

/** Not of nodes at work: what was begun there has to be brought to an end. A report keeps no action from its end. */
function endsStep(name: ActionStepName, error: unknown): boolean {
  if (isLasting(error)) return true;
  const code = errorCode(error);
  return name === 'final_report' && code !== 'database_error' && code !== 'lease_lost';
}

async function tryStep(work: ActionWork, name: Exclude<ActionStepName, 'tag_revision'>): Promise<StepEnd> {
  try {
    return await actionSteps[name](work);
  } catch (error) {
    if (work.signal.aborted || name === 'baremetal_nodes' || !endsStep(name, error)) throw error;
    return { state: 'failed', error: errorChain(error) };
  }
}

async function recordEnd(work: ActionWork, name: ActionStepName, end: StepEnd): Promise<void> {
  const { context, action } = work;
  const { state, error, notes = [], write } = end;
  await record(work, async (tx) => {
    await write?.(tx);
    await recordStep(tx, { actionId: action.id, name }, { state, error });
    await addNotes(tx, action.id, notes);
    if (error !== undefined) await addNotes(tx, action.id, [{ step: name, verbosity: 1, text: `failed: ${error}` }]);
  });
  const about = { action: action.id, step: name, state, error };
  if (state === 'failed') context.log.warn(about, 'step of a site action failed');
  else context.log.info(about, 'step of a site action ended');
}
