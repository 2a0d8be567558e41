import { eq } from 'drizzle-orm';
import { type FlowChange, updateFlow } from '#conductor/flows/log/flow-store.ts';
import {
  addCommand,
  notifyRunners,
  type SiteAction,
  selectActions,
} from '#conductor/flows/site-actions/action-store.ts';
import { loadRun } from '#conductor/flows/site-actions/run-store.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import { describeRemark } from '#conductor/model/remarks/remark-words.ts';
import { isPausedByPerson, obstacleOf, pausedByItself } from '#conductor/model/site/rollout.ts';
import { type Decision, isUnderWay } from '#conductor/model/site/site-run.ts';
import { addNotes, notifyOfAction } from '#conductor/sites/actions/action-notes.ts';
import { stopReason } from '#conductor/sites/actions/settle-run.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { AppError } from '#shared/errors/app-error.ts';

const controlVerbs = ['pause', 'unpause', 'skip', 'stop'] as const;
type ControlVerb = (typeof controlVerbs)[number];

const changes = {
  pause: { held: 'paused' },
  unpause: { held: null },
  skip: { held: null },
  stop: { held: null, abortRequested: stopReason },
} as const satisfies Record<ControlVerb, FlowChange>;

/**
 * Notes what the operator wants of an action; its runner follows at its next beat (airship.md §4.3). Pause: nothing
 * new is begun, and nodes at work end their phase, of a teardown the act that they are at. Skip: groups go past the
 * window, canaries or health gate that is in their way now. Stop: nodes at work are broken off, and the action ends.
 * @throws AppError `not_found` (the action, then the verb), `conflict` in a state that has no such verb.
 */
export async function controlAction(
  { db, log }: Pick<SitesContext, 'db' | 'log'>,
  id: string,
  { verb, caller }: { readonly verb: string; readonly caller: Caller },
): Promise<void> {
  const user = caller.user ?? null;
  await db.transaction(async (tx) => {
    const [action] = await selectActions(tx).where(eq(siteActions.id, id)).for('update');
    if (!action) throw new AppError('not_found', `Action ${id} could not be found.`);
    const command = controlVerbs.find((each) => each === verb);
    if (!command) {
      if (verb === 'rollback') throw noRollback();
      const meant = Object.hasOwn(otherWords, verb) ? `; ${otherWords[verb]} does that` : '';
      throw new AppError(
        'not_found',
        `There is no control '${verb}'${meant}; must be one of ${controlVerbs.join(', ')}`,
      );
    }
    requireControllable(action, command);
    if (command === 'skip') await requireObstacle(tx, action);
    await updateFlow(tx, action.flowUuid, changes[command]);
    await addCommand(tx, { actionId: id, command, user });
    await addNotes(tx, id, [{ verbosity: 2, text: `${command} was asked for${user === null ? '' : ` by ${user}`}` }]);
    await notifyRunners(tx);
  });
  log.info({ action: id, verb, user }, 'site action controlled');
}

/** Verbs of other tools, with the control that does the same here. */
const otherWords: Readonly<Record<string, ControlVerb>> = {
  resume: 'unpause',
  continue: 'unpause',
  cancel: 'stop',
  abort: 'stop',
};

function noRollback(): AppError {
  return new AppError(
    'not_supported',
    'rollback of an action is not supported: stop it, return the documents to a revision (baton site rollback), commit, ' +
      'and start redeploy_server for the nodes that it has deployed',
  );
}

/** @throws AppError `conflict` where no group has anything in its way that may be skipped. */
async function requireObstacle(tx: Transaction, { id, name }: SiteAction): Promise<void> {
  const groups = (await loadRun(tx, id, 1))?.groups.filter(isUnderWay) ?? [];
  if (groups.some(({ rollout }) => rollout && obstacleOf(rollout))) return;
  const waits = groups.flatMap(({ definition, rollout }) =>
    rollout?.waits ? [`${definition.name} waits for ${describeRemark(rollout.waits)}`] : [],
  );
  throw new AppError(
    'conflict',
    `Unable to skip in action ${id} (${name}): no group waits for its window, its canaries or a health gate` +
      (waits.length === 0 ? '' : `: ${waits.join('; ')}`),
  );
}

/** Has an action pause because too much has gone wrong: an operator decides how it goes on, as after a pause of theirs. */
export async function pauseByItself(
  tx: Transaction,
  action: SiteAction,
  { group, reason }: Extract<Decision, { kind: 'pause' }>,
): Promise<void> {
  const held = `${pausedByItself}: group ${group}: ${describeRemark(reason)}`;
  await updateFlow(tx, action.flowUuid, { held });
  await notifyOfAction(tx, { ...action, error: held });
}

function requireControllable(action: SiteAction, verb: ControlVerb): void {
  const { id, name, state, held, abortRequested, endedAt } = action;
  const refuse = (why: string): never => {
    throw new AppError('conflict', `Unable to ${verb} action ${id} (${name}): it ${why}`);
  };
  if (endedAt !== null) refuse(`has ended (${state})`);
  if (abortRequested !== null) refuse('is stopping already');
  if (verb === 'pause' && held !== null) refuse('is paused already');
  if (verb === 'skip' && isPausedByPerson(held)) refuse(`is paused (${held}); unpause it first`);
  if (verb === 'unpause' && held === null) refuse('is not paused');
}
