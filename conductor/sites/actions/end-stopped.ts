import { readClaimed } from '#conductor/flows/actions/action-lease.ts';
import { loadRun, recordRun } from '#conductor/flows/actions/run-store.ts';
import { listSteps } from '#conductor/flows/flow-store.ts';
import { requestOf } from '#conductor/model/flow-states.ts';
import { type ActionWork, followHold, isLasting, record } from '#conductor/sites/actions/action-work.ts';
import { countNodes, nameNodes } from '#conductor/sites/actions/note-changes.ts';
import { addNotes, type Note } from '#conductor/sites/actions/note-store.ts';
import { writeEnd } from '#conductor/sites/actions/run-action.ts';
import { abandonRun, workingNodes } from '#conductor/sites/actions/settle-run.ts';
import { errorChain } from '#shared/errors/app-error.ts';

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
  await record(work, async (tx, control) => {
    await followHold(work, tx, control);
    if (run) await recordRun(tx, action.id, run, abandonRun(run, unknown, work.now()));
    const notes: Note[] = [{ step, verbosity: 1, text: `stopped, for it does not get on: ${why}` }];
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
