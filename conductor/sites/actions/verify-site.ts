import { type NodeLook, recordLooks } from '#conductor/flows/site-actions/run-store.ts';
import { requestOf } from '#conductor/model/flows/flow-states.ts';
import { describeRemark, newRemark } from '#conductor/model/remarks/remark-words.ts';
import { type ActionStepName, actionTable, readActionParameters } from '#conductor/model/site/action-table.ts';
import { addNotes, countNodes, type Note, nameNodes } from '#conductor/sites/actions/action-notes.ts';
import {
  type ActionWork,
  awaitGo,
  readTeardownOrder,
  type StepEnd,
  writeUnderLease,
} from '#conductor/sites/actions/action-work.ts';
import { stopReason } from '#conductor/sites/actions/settle-run.ts';
import { lookAtClusters } from '#conductor/sites/actions/teardown-plan/look-at-clusters.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import type { NodeReport, SiteWork } from '#conductor/sites/nodes/node-order.ts';
import { describeLeftBehind } from '#conductor/sites/revisions/check-revision.ts';
import { readEtcdSite } from '#conductor/sites/revisions/find-design.ts';

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
 * Notes obstacles to a teardown: reported at once, since the operator who started it is still there, and waited for by
 * its steps, for they may mend themselves.
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

/** Nodes of one call: between two the operator's request is followed, so that it waits for the slowest of them. */
const nodesPerCall = 32;

/** The nodes that an action is about: `target_nodes`, or all of the documents. */
async function targetNodes({ action, site }: ActionWork): Promise<readonly string[]> {
  const { target_nodes: given } = readActionParameters(action.name, action.parameters);
  return given ?? [...(await site()).nodes.keys()];
}

/**
 * Has something looked at or mended on each node; the step fails when it fails on one, or one is not as documented.
 * Repeated, it starts over, and reports again. What it has come to is recorded for each node.
 */
export async function workOnNodes(
  work: ActionWork,
  options: {
    readonly step: ActionStepName;
    readonly does: (
      context: SitesContext,
      work: SiteWork & { readonly names: readonly string[] },
    ) => Promise<ReadonlyMap<string, NodeReport>>;
  },
): Promise<StepEnd> {
  const { context, action, signal } = work;
  const { step } = options;
  const names = await targetNodes(work);
  const site = await work.site();
  const failed: string[] = [];
  const differing: string[] = [];
  for (let done = 0; done < names.length; done += nodesPerCall) {
    signal.throwIfAborted();
    if (requestOf(await awaitGo(work)) === 'abort') return { event: 'failed', error: stopReason };
    const reports = await options.does(context, { action, site, names: names.slice(done, done + nodesPerCall) });
    context.checkpoint('acted');
    for (const [subject, { state, differs = [] }] of reports) {
      if (state === 'failed') failed.push(subject);
      else if (differs.length > 0) differing.push(`${subject} (${differs.join(', ')})`);
    }
    const notes = [...reports].flatMap(([subject, report]) => noteReport(step, subject, report));
    await writeUnderLease(work, async (tx) => {
      await addNotes(tx, action.id, notes);
      await recordLooks(tx, action.id, [...reports].map(lookOf));
    });
  }
  return endOf({ step, count: names.length, failed, differing });
}

function endOf(found: {
  readonly step: ActionStepName;
  readonly count: number;
  readonly failed: readonly string[];
  readonly differing: readonly string[];
}): StepEnd {
  const { step, count, failed, differing } = found;
  const note = (text: string): Note[] => [{ step, verbosity: 1, text: `${countNodes(count)}: ${text}` }];
  const isLook = step === 'verify_site';
  if (failed.length === 0 && differing.length === 0) {
    return { event: 'succeeded', notes: note(isLook ? 'all as documented' : 'all well') };
  }
  const errors = [
    ...(failed.length > 0 ? [`${countNodes(failed.length)} of ${count} failed: ${nameNodes(failed)}`] : []),
    ...(differing.length > 0
      ? [`${differing.length} of ${countNodes(count)} ${differing.length === 1 ? 'is' : 'are'} not as documented`]
      : []),
  ];
  const parts = [
    `${count - failed.length - differing.length} as documented`,
    ...(differing.length > 0
      ? [`${differing.length} ${differing.length === 1 ? 'differs' : 'differ'}: ${nameNodes(differing)}`]
      : []),
    ...(failed.length > 0 ? [`${failed.length} failed`] : []),
  ];
  return { event: 'failed', error: errors.join('; '), ...(isLook ? { notes: note(parts.join(', ')) } : {}) };
}

/** Makes a look of a row of the action's nodes. */
function lookOf([name, report]: [string, NodeReport]): NodeLook {
  const { differs = [] } = report;
  const error = report.state === 'failed' ? report.error : undefined;
  if (differs.length > 0) {
    return { name, status: 'failure', reason: { ...newRemark('undocumented', { differs, error }), subject: name } };
  }
  if (report.state === 'failed') return { name, status: 'failure', reason: report.error };
  return { name, status: 'success', reason: report.remark };
}

function noteReport(step: ActionStepName, subject: string, report: NodeReport): Note[] {
  const found = report.findings.map((text): Note => ({ step, subject, verbosity: 2, text }));
  if (report.state === 'failed')
    return [...found, { step, subject, verbosity: 1, text: `failed: ${describeRemark(report.error)}` }];
  const text = report.remark ? describeRemark(report.remark) : 'well';
  return [...found, { step, subject, verbosity: 4, text }];
}
