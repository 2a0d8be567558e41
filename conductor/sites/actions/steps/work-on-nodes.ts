import type { ConductorContext } from '#conductor/context.ts';
import { readWish } from '#conductor/sites/actions/action-lease.ts';
import { type ActionStepName, readActionParameters } from '#conductor/sites/actions/action-table.ts';
import type { ActionWork, StepEnd } from '#conductor/sites/actions/action-work.ts';
import { countNodes, nameNodes } from '#conductor/sites/actions/note-changes.ts';
import type { Note } from '#conductor/sites/actions/note-store.ts';
import { stopReason } from '#conductor/sites/actions/settle-run.ts';
import type { NodeReport, SiteWork } from '#conductor/sites/nodes/node-order.ts';

/** Nodes of one call: between two the operator's wish is looked at. */
const nodesPerCall = 100;

/** The nodes that an action is about: `target_nodes`, or all of the documents. */
async function targetNodes({ action, site }: ActionWork): Promise<readonly string[]> {
  const { target_nodes: given } = readActionParameters(action.name, action.parameters);
  return given ?? [...(await site()).nodes.keys()];
}

/** Has something looked at or mended on each node; the step fails when it fails on one. Repeated, it begins anew. */
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
  const { context, action, lease, signal } = work;
  const { step } = options;
  const names = await targetNodes(work);
  const site = await work.site();
  const notes: Note[] = [];
  const failed: string[] = [];
  for (let done = 0; done < names.length; done += nodesPerCall) {
    signal.throwIfAborted();
    const { wanted } = await readWish(context.db, lease);
    if (wanted === 'stop') return { state: 'failed', error: stopReason, notes };
    const reports = await options.does(context, { action, site, names: names.slice(done, done + nodesPerCall) });
    context.checkpoint('acted');
    for (const [subject, report] of reports) {
      notes.push(...noteReport(step, subject, report));
      if (report.state === 'failed') failed.push(subject);
    }
  }
  if (failed.length === 0) {
    notes.push({ step, verbosity: 1, text: `${countNodes(names.length)}: all well` });
    return { state: 'done', notes };
  }
  const error = `${countNodes(failed.length)} of ${names.length} failed: ${nameNodes(failed)}`;
  return { state: 'failed', error, notes };
}

function noteReport(step: ActionStepName, subject: string, report: NodeReport): Note[] {
  const found = report.findings.map((text): Note => ({ step, subject, verbosity: 2, text }));
  if (report.state === 'failed') return [...found, { step, subject, verbosity: 1, text: `failed: ${report.error}` }];
  const text = report.remark ?? 'well';
  return [...found, { step, subject, verbosity: 4, text }];
}
