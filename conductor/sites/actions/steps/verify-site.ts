import { actionTable, readActionParameters } from '#conductor/model/action-table.ts';
import type { ActionWork, StepEnd } from '#conductor/sites/actions/action-work.ts';
import { countNodes, nameNodes } from '#conductor/sites/actions/note-changes.ts';
import type { Note } from '#conductor/sites/actions/note-store.ts';
import { readTeardownOrder } from '#conductor/sites/actions/read-teardown-order.ts';
import { workOnNodes } from '#conductor/sites/actions/steps/work-on-nodes.ts';
import { lookAtClusters } from '#conductor/sites/actions/teardown-plan/look-at-clusters.ts';
import { describeLeftBehind } from '#conductor/sites/revisions/left-behind.ts';
import { readEtcdSite } from '#conductor/sites/revisions/read-etcd-site.ts';

const step = 'verify_site';

/**
 * Does a conductor that is alive work on each node's group, and know its driver? An action that deploys asks no more:
 * each node's own faults come up when it is prepared, and its group's criteria judge them. `verify_site` asks the nodes.
 */
export async function verifySite(work: ActionWork): Promise<StepEnd> {
  const { action, operations, context } = work;
  const { nodes } = await work.site();
  const live = await context.conductors.live();
  const attends = new Set(
    live.flatMap(({ conductorGroup, drivers }) => drivers.map((driver) => `${conductorGroup}/${driver}`)),
  );
  const left = [...nodes.values()].filter(
    ({ conductorGroup = '', driver }) => !attends.has(`${conductorGroup.toLowerCase()}/${driver}`),
  );
  const notes = left.map(({ name, driver, conductorGroup = '' }) => ({
    step,
    subject: name,
    verbosity: 1,
    text: `no conductor that is alive has driver ${driver}${conductorGroup === '' ? '' : ` in group ${conductorGroup}`}`,
  })) satisfies StepEnd['notes'];
  if (left.length === nodes.size && nodes.size > 0) {
    const error = `no conductor that is alive works on any of ${countNodes(left.length)}: ${nameNodes(left.map(({ name }) => name))}`;
    return { event: 'failed', error, notes };
  }
  if (actionTable[action.name].looksOnly !== true) {
    return { event: 'succeeded', notes: [...notes, ...(await noteObstacles(work))] };
  }
  const verified = await workOnNodes(work, { step, does: operations.verifyNodes });
  const leftBehind = await describeLeftBehind(context.db, new Set(nodes.keys()));
  const reported = leftBehind === undefined ? [] : [{ step, verbosity: 1, text: leftBehind } as const];
  return { ...verified, notes: [...notes, ...(verified.notes ?? []), ...reported] };
}

/**
 * What stands in the way of a teardown now: told at once, for whoever has started it is still there, and waited for by its
 * steps, for it may mend itself.
 */
async function noteObstacles(work: ActionWork): Promise<Note[]> {
  const { action, context, site } = work;
  const documents = await site();
  const teardown = await readTeardownOrder(work);
  if (!teardown) return [];
  const etcd = await readEtcdSite(context, { revisionId: action.revisionId, site: documents });
  const { target_nodes: names = [] } = readActionParameters(action.name, action.parameters);
  const { nodes, wrong: ofAll } = await lookAtClusters(context, etcd, { names, teardown });
  return [
    ...ofAll.map((text): Note => ({ step, verbosity: 1, text: `in the way now: ${text}` })),
    ...[...nodes].flatMap(([subject, { wrong }]) =>
      wrong.map((text): Note => ({ step, subject, verbosity: 1, text: `in the way now: ${text}` })),
    ),
  ];
}
