import type { ConductorContext } from '#conductor/context.ts';
import { type ActionStepName, readActionParameters } from '#conductor/sites/actions/action-table.ts';
import { type ActionWork, awaitGo, record, type StepEnd } from '#conductor/sites/actions/action-work.ts';
import { countNodes, nameNodes } from '#conductor/sites/actions/note-changes.ts';
import { addNotes, type Note } from '#conductor/sites/actions/note-store.ts';
import { stopReason } from '#conductor/sites/actions/settle-run.ts';
import type { NodeReport, SiteWork } from '#conductor/sites/nodes/node-order.ts';

/** Nodes of one call: between two the operator's wish is followed, so that it waits for the slowest of them. */
const nodesPerCall = 32;

/** The nodes that an action is about: `target_nodes`, or all of the documents. */
async function targetNodes({ action, site }: ActionWork): Promise<readonly string[]> {
  const { target_nodes: given } = readActionParameters(action.name, action.parameters);
  return given ?? [...(await site()).nodes.keys()];
}

/** Has something looked at or mended on each node; the step fails when it fails on one. Repeated, it begins anew, and tells it anew. */
export async function workOnNodes(
  work: ActionWork,
  options: {
    readonly step: ActionStepName;
    readonly does: (
      context: ConductorContext,
      work: SiteWork & { readonly names: readonly string[] },
    ) => Promise<ReadonlyMap<string, NodeReport>>;
  },
): Promise<StepEnd> {
  const { context, action, signal } = work;
  const { step } = options;
  const names = await targetNodes(work);
  const site = await work.site();
  const failed: string[] = [];
  for (let done = 0; done < names.length; done += nodesPerCall) {
    signal.throwIfAborted();
    if ((await awaitGo(work)) === 'stop') return { state: 'failed', error: stopReason };
    const reports = await options.does(context, { action, site, names: names.slice(done, done + nodesPerCall) });
    context.checkpoint('acted');
    for (const [subject, { state }] of reports) if (state === 'failed') failed.push(subject);
    const notes = [...reports].flatMap(([subject, report]) => noteReport(step, subject, report));
    await record(work, (tx) => addNotes(tx, action.id, notes));
  }
  if (failed.length === 0) {
    return { state: 'done', notes: [{ step, verbosity: 1, text: `${countNodes(names.length)}: all well` }] };
  }
  const error = `${countNodes(failed.length)} of ${names.length} failed: ${nameNodes(failed)}`;
  return { state: 'failed', error };
}

function noteReport(step: ActionStepName, subject: string, report: NodeReport): Note[] {
  const found = report.findings.map((text): Note => ({ step, subject, verbosity: 2, text }));
  if (report.state === 'failed') return [...found, { step, subject, verbosity: 1, text: `failed: ${report.error}` }];
  const text = report.remark ?? 'well';
  return [...found, { step, subject, verbosity: 4, text }];
}
