import { eq } from 'drizzle-orm';
import { skipPending } from '#conductor/flows/engine/finish-flow.ts';
import { nextAction } from '#conductor/flows/engine/next-action.ts';
import { listSteps, updateFlow } from '#conductor/flows/log/flow-store.ts';
import { recordStepEvent, type StepEventOptions } from '#conductor/flows/log/step-log.ts';
import { readClaimed } from '#conductor/flows/site-actions/action-lease.ts';
import type { ActionControl } from '#conductor/flows/site-actions/action-store.ts';
import { loadRun, recordRun } from '#conductor/flows/site-actions/run-store.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import { siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import { requestOf } from '#conductor/model/flows/flow-states.ts';
import type { ActionStepName } from '#conductor/model/site/action-table.ts';
import { addNotes, countNodes, type Note, nameNodes, notifyOfAction } from '#conductor/sites/actions/action-notes.ts';
import {
  type ActionWork,
  awaitGo,
  followHold,
  isLasting,
  type StepEnd,
  writeUnderLease,
} from '#conductor/sites/actions/action-work.ts';
import { baremetalNodes } from '#conductor/sites/actions/baremetal-nodes.ts';
import { finalReport } from '#conductor/sites/actions/final-report.ts';
import { abandonRun, judgeSteps, stopReason, workingNodes } from '#conductor/sites/actions/settle-run.ts';
import { tagRevision } from '#conductor/sites/actions/tag-revision.ts';
import { preflight, validateSiteDesign } from '#conductor/sites/actions/validate-site-design.ts';
import { verifySite, workOnNodes } from '#conductor/sites/actions/verify-site.ts';
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
    if (mayStop && requestOf(control) === 'abort') await writeUnderLease(work, (tx) => stopSteps(work, tx, 'aborting'));
    else await runStep(work, next.step);
  }
}

async function runStep(work: ActionWork, step: FlowStepRow): Promise<void> {
  const { context, action } = work;
  await writeUnderLease(work, (tx) => recordStepEvent(tx, step, 'started', eventOf(work)));
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
  await writeUnderLease(work, (tx, control) => writeEnd(work, tx, { control, step, end: { ...end, notes } }));
  const about = { action: action.id, step: step.step, event, error };
  if (event === 'failed') context.log.warn(about, 'step of a site action failed');
  else context.log.info(about, 'step of a site action ended');
}

/** With a main step's failure those that have not run are skipped. */
async function writeEnd(
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

async function endAction(work: ActionWork, steps: readonly FlowStepRow[]): Promise<void> {
  const { context, action, lease, now } = work;
  const end = await writeUnderLease(work, async (tx, { state, abortRequested }) => {
    const how = judgeSteps(steps, { state, isStopped: abortRequested !== null });
    await updateFlow(tx, action.flowUuid, { ...how, endedAt: new Date(now()) });
    await tx.update(siteActions).set({ holder: null, expiresAt: null }).where(eq(siteActions.id, lease.actionId));
    const text = `${action.name} ${how.state}${how.error === null ? '' : `: ${how.error}`}`;
    await addNotes(tx, action.id, [{ verbosity: 1, text }]);
    await notifyOfAction(tx, { ...action, ...how });
    return how;
  });
  context.log.info({ action: action.id, name: action.name, ...end }, 'site action ended');
}

const step = 'baremetal_nodes';
/** Errors in a row after which nodes at work can't be asked: with the pauses between them half a minute. */
const patience = 6;

/**
 * An action that the operator has stopped ends, whatever its nodes' step throws: at once when nothing is at work, or when
 * its documents can't be read, so that no node can be asked; else after several tries.
 * @param tries errors in a row
 * @returns whether the step has ended by it
 */
export async function endStopped(work: ActionWork, error: unknown, tries: number): Promise<boolean> {
  const { context, action, lease } = work;
  const steps = await listSteps(context.db, action.flowUuid);
  const running = steps.find((each) => each.step === step && each.state === 'running');
  if (!running || requestOf(await readClaimed(context.db, lease)) !== 'abort') return false;
  const run = await loadRun(context.db, action.id, 1);
  const working = run ? workingNodes(run).map(([name]) => name) : [];
  if (working.length > 0 && tries < patience && (await canAsk(work))) return false;
  const why = errorChain(error);
  const unknown = `nobody could ask what has become of it when the action was stopped: ${why}`;
  await writeUnderLease(work, async (tx, control) => {
    await followHold(work, tx, control);
    if (run) await recordRun(tx, action.id, run, abandonRun(run, unknown, work.now()));
    const notes: Note[] = [{ step, verbosity: 1, text: `stopped, because its beats fail: ${why}` }];
    if (working.length > 0) {
      const text = `not broken off, look at them yourself: ${countNodes(working.length)}: ${nameNodes(working)}`;
      notes.push({ step, verbosity: 1, text });
    }
    await addNotes(tx, action.id, notes);
    await writeEnd(work, tx, { control, step: running, end: { event: 'failed', error: why } });
  });
  context.log.warn({ action: action.id, working, err: error }, 'site action stopped without its nodes');
  return true;
}

async function canAsk({ site }: ActionWork): Promise<boolean> {
  try {
    await site();
    return true;
  } catch (error) {
    return !isLasting(error);
  }
}

/**
 * THE table of what the steps of actions do. Each may be run again by another conductor at any time: what it has done
 * stands in the database, or does no harm twice.
 */
const actionSteps: Readonly<Record<ActionStepName, (work: ActionWork) => Promise<StepEnd>>> = {
  preflight,
  validate_site_design: validateSiteDesign,
  verify_site: verifySite,
  baremetal_nodes: baremetalNodes,
  relabel_nodes: (work) => workOnNodes(work, { step: 'relabel_nodes', does: work.operations.relabelNodes }),
  final_report: finalReport,
  tag_revision: tagRevision,
};
