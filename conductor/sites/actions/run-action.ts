import { readClaimed } from '#conductor/flows/actions/action-lease.ts';
import type { ActionControl } from '#conductor/flows/actions/action-store.ts';
import { skipPending } from '#conductor/flows/finish-flow.ts';
import { listSteps, updateFlow } from '#conductor/flows/flow-store.ts';
import { nextAction } from '#conductor/flows/next-action.ts';
import { recordStepEvent, type StepEventOptions } from '#conductor/flows/step-log.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import type { ActionStepName } from '#conductor/model/action-table.ts';
import { requestOf } from '#conductor/model/flow-states.ts';
import { type ActionWork, awaitGo, isLasting, record, type StepEnd } from '#conductor/sites/actions/action-work.ts';
import { endAction } from '#conductor/sites/actions/end-action.ts';
import { addNotes } from '#conductor/sites/actions/note-store.ts';
import { stopReason } from '#conductor/sites/actions/settle-run.ts';
import { actionSteps } from '#conductor/sites/actions/steps/index.ts';
import { AppError, errorChain, errorCode } from '#shared/errors/app-error.ts';

/**
 * Runs a claimed action from where its steps say that it is, to its end.
 * @throws whatever passes: the caller tries again; AppError `lease_lost`
 */
export async function runAction(work: ActionWork): Promise<void> {
  const { context, action, lease, signal } = work;
  for (;;) {
    signal.throwIfAborted();
    const steps = await listSteps(context.db, action.flowUuid);
    // nodes at work are looked after while it is held too, and when that ends their time is prolonged: by the step itself
    const isDeploying = steps.some(({ step, state }) => step === 'baremetal_nodes' && state === 'running');
    const control = isDeploying ? await readClaimed(context.db, lease) : await awaitGo(work);
    const next = nextAction(control, steps, new Date(work.now()));
    if (next.kind === 'finish') {
      await endAction(work, steps);
      return;
    }
    if (next.kind !== 'run') throw new AppError('internal', `step ${next.step.step} of a site action waits`);
    const mayStop = next.step.phase === 'main' && next.step.state === 'pending';
    if (mayStop && requestOf(control) === 'abort') await record(work, (tx) => stopSteps(work, tx, 'aborting'));
    else await runStep(work, next.step);
  }
}

async function runStep(work: ActionWork, step: FlowStepRow): Promise<void> {
  const { context, action } = work;
  await record(work, (tx) => recordStepEvent(tx, step, 'started', eventOf(work)));
  context.log.info({ action: action.id, step: step.step }, 'step of a site action begins');
  await recordEnd(work, { ...step, state: 'running' }, await tryStep(work, step.step as ActionStepName));
}

function eventOf({ context, now }: ActionWork, error?: string): StepEventOptions {
  return { conductor: context.config.conductorName, now: new Date(now()), ...(error === undefined ? {} : { error }) };
}

/** Not of nodes at work: what was begun there has to be brought to an end. A report keeps no action from its end. */
function endsStep(name: ActionStepName, error: unknown): boolean {
  if (isLasting(error)) return true;
  const code = errorCode(error);
  return name === 'final_report' && code !== 'database_error' && code !== 'lease_lost';
}

async function tryStep(work: ActionWork, name: ActionStepName): Promise<StepEnd> {
  try {
    return await actionSteps[name](work);
  } catch (error) {
    if (work.signal.aborted || name === 'baremetal_nodes' || !endsStep(name, error)) throw error;
    return { event: 'failed', error: errorChain(error) };
  }
}

async function recordEnd(work: ActionWork, step: FlowStepRow, end: StepEnd): Promise<void> {
  const { context, action } = work;
  const { event, error, notes = [] } = end;
  await record(work, (tx, control) => writeEnd(work, tx, { control, step, end: { ...end, notes } }));
  const about = { action: action.id, step: step.step, event, error };
  if (event === 'failed') context.log.warn(about, 'step of a site action failed');
  else context.log.info(about, 'step of a site action ended');
}

/** With a main step's failure those that have not run are skipped. */
export async function writeEnd(
  work: ActionWork,
  tx: Transaction,
  { control, step, end }: { readonly control: ActionControl; readonly step: FlowStepRow; readonly end: StepEnd },
): Promise<void> {
  const { event, error, notes = [], write } = end;
  const name = step.step as ActionStepName;
  await write?.(tx);
  await recordStepEvent(tx, step, event, eventOf(work, error));
  const failed: typeof notes = error === undefined ? [] : [{ step: name, verbosity: 1, text: `failed: ${error}` }];
  await addNotes(tx, work.action.id, [...notes, ...failed]);
  if (event !== 'failed' || step.phase !== 'main') return;
  const isAborted = requestOf(control) === 'abort';
  await stopSteps(work, tx, isAborted ? 'aborting' : 'failing', `${name}: ${error ?? 'failed'}`);
}

/** Main steps that have not run are skipped; those that close the flow are left. */
async function stopSteps(
  work: ActionWork,
  tx: Transaction,
  state: 'failing' | 'aborting',
  error: string = stopReason,
): Promise<void> {
  const { flowUuid } = work.action;
  const open = (await listSteps(tx, flowUuid)).filter((step) => step.phase === 'main');
  await skipPending(tx, open, eventOf(work));
  await updateFlow(tx, flowUuid, { state, error: state === 'aborting' ? stopReason : error });
}
