import { loadRun } from '#conductor/flows/actions/run-store.ts';
import { actionTable } from '#conductor/model/action-table.ts';
import { describeOutdated } from '#conductor/model/outdated.ts';
import { describeNothingToDeploy, reportSite, type SiteReport } from '#conductor/model/site-report.ts';
import type { ActionWork, StepEnd } from '#conductor/sites/actions/action-work.ts';
import { nameNodes } from '#conductor/sites/actions/note-changes.ts';
import type { Note } from '#conductor/sites/actions/note-store.ts';
import { reportTeardown } from '#conductor/sites/actions/steps/report-teardown.ts';

const step = 'final_report';

/** The seed's report: what has become of groups and nodes; those left `prepared` too, which Shipyard leaves out. */
export async function finalReport({ context, action }: ActionWork): Promise<StepEnd> {
  const run = await loadRun(context.db, action.id, 1);
  if (!run) return { event: 'skipped' };
  const isTeardown = actionTable[action.name].teardown !== undefined;
  const torn = isTeardown ? await reportTeardown(context.db, action.id, run.nodes) : [];
  const outdated = describeOutdated(
    [...run.nodes].map(([name, { status, reason }]) => ({ name, status, remark: reason })),
  );
  const nothing = describeNothingToDeploy({ groups: run.groups.length, nodes: run.nodes.size });
  return {
    event: 'succeeded',
    notes: [
      ...noteReport(reportSite(run), actionTable[action.name].teardown !== 'then keeps'),
      ...torn,
      ...outdated.concat(nothing).map((text): Note => ({ step, verbosity: 1, text })),
    ],
  };
}

/** @param deploys else nodes are only torn down, in their first phase Pure. */
function noteReport({ groups, nodes, conclusion }: SiteReport, deploys: boolean): Note[] {
  const groupLines = groups.map(
    ({ name, critical, stage, reason, prepare, deploy }) =>
      `${name}${critical ? ' [Critical]' : ''} ended with stage: ${stage}${reason === undefined ? '' : ` (${reason})`}; ` +
      (deploys ? `prepare ${prepare}, deploy ${deploy}` : `teardown ${prepare}`),
  );
  const nodeLines = Object.entries(nodes)
    .filter(([, names]) => names.length > 0)
    .map(([status, names]) => `${status}: ${names.length} (${nameNodes(names)})`);
  return [
    { step, subject: 'Deployment Groups', verbosity: 1, text: groupLines.join('\n') || 'there are none' },
    {
      step,
      subject: deploys ? 'Node Deployment' : 'Node Teardown',
      verbosity: 1,
      text: nodeLines.join('\n') || 'there are none',
    },
    { step, verbosity: 1, text: `Finish (${conclusion})` },
  ];
}
