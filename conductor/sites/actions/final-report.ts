import { and, asc, eq, getTableColumns } from 'drizzle-orm';
import { type ReportedFlow, summarizeTeardown } from '#conductor/flows/engine/summarize-teardown.ts';
import { loadRun } from '#conductor/flows/site-actions/run-store.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { isAmong } from '#conductor/kernel/db/query/statement.ts';
import { flowSteps, flows, nodeFlow } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { describeOutdated } from '#conductor/model/remarks/outdated.ts';
import { describeRemark } from '#conductor/model/remarks/remark-words.ts';
import { actionTable } from '#conductor/model/site/action-table.ts';
import { describeNothingToDeploy, reportSite, type SiteReport } from '#conductor/model/site/site-report.ts';
import type { NodeRun } from '#conductor/model/site/site-run.ts';
import { wayToWipe } from '#conductor/nodes/requested-wipe.ts';
import { listReceiptsOfAction } from '#conductor/receipts/receipt-store.ts';
import { type Note, nameNodes } from '#conductor/sites/actions/action-notes.ts';
import type { ActionWork, StepEnd } from '#conductor/sites/actions/action-work.ts';
import type { Log } from '#shared/log.ts';

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
  const report = reportSite(run);
  logReport(context.log.child({ action: action.id, name: action.name }), report);
  return {
    event: 'succeeded',
    notes: [
      ...noteReport(report, actionTable[action.name].teardown !== 'then keeps'),
      ...torn,
      ...outdated.concat(nothing).map((text): Note => ({ step, verbosity: 1, text })),
    ],
  };
}

/** For those who read the conductor's log and not the action (seed 000: "a report will be logged"). */
function logReport(log: Log, { groups, nodes, conclusion }: SiteReport): void {
  for (const { name: group, critical, stage, reason, nodes: counts } of groups) {
    log.info({ group, critical, stage, reason, nodes: counts }, 'deployment group ended');
  }
  log.info({ nodes, conclusion }, 'nodes of a site action');
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

/**
 * Reports of each node of a teardown what was done to it, what was not, and what a person has to do now: a note each.
 */
async function reportTeardown(
  db: Queryable,
  actionId: string,
  run: ReadonlyMap<string, Pick<NodeRun, 'status' | 'reason'>>,
): Promise<Note[]> {
  const reported = await readReportedFlows(db, actionId, [...run.keys()]);
  // of nodes that are forgotten by now nothing else is left
  const signed = Map.groupBy(await listReceiptsOfAction(db, actionId), ({ nodeName }) => nodeName ?? '');
  return [...run].flatMap(([name, node]) =>
    noteNode(name, node, {
      ...(reported.get(name) ?? { its: [] }),
      receipts: signed.get(name)?.map(({ uuid }) => uuid) ?? [],
    }),
  );
}

/** Work that the action's flows have done to a node, in the order in which they ran. */
interface ReportedNode {
  readonly its: readonly ReportedFlow[];
  /** The way to wipe a node that owes a wipe now, whatever was done to it since. */
  readonly wayToWipe?: string | undefined;
}

/** Pure. */
export function noteNode(
  name: string,
  { status, reason }: Pick<NodeRun, 'status' | 'reason'>,
  { its, wayToWipe: way, receipts }: ReportedNode & { readonly receipts: readonly string[] },
): Note[] {
  const { done, simulated, failed, notBegun, byHand } = summarizeTeardown(name, its, way);
  const proofs = [...simulated, ...receipts.map((uuid) => `receipt ${uuid}: \`baton receipt show ${uuid}\``)];
  const part = (title: string, lines: readonly string[]): string[] => lines.map((line) => `${title}: ${line}`);
  if (status === 'success') {
    const head = `all was done${reason === undefined ? '' : `: ${describeRemark(reason)}`}`;
    return [
      { step, subject: name, verbosity: 1, text: [head, ...proofs].join('\n') },
      ...(done.length === 0
        ? []
        : [{ step, subject: name, verbosity: 2, text: part('done', done).join('\n') } as const]),
    ];
  }
  const untouched = its.length === 0;
  // a flow's error says all of it once more
  const isReported = failed.length > 0 && reason?.code === 'flow-failed';
  const head = untouched
    ? 'not begun: nothing was done to it'
    : `not finished${reason === undefined || isReported ? '' : `: ${describeRemark(reason)}`}`;
  const byHandLines = byHand.length === 0 && !untouched ? ['nothing, before the action is started again'] : byHand;
  const lines = [
    head,
    ...part('done', done),
    ...proofs,
    ...part('failed', failed),
    ...part('not begun', notBegun),
    ...part('by hand', byHandLines),
  ];
  return [{ step, subject: name, verbosity: 1, text: lines.join('\n') }];
}

/** By name. */
async function readReportedFlows(
  db: Queryable,
  actionId: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, ReportedNode>> {
  const rows = await db
    .select({
      node: { name: nodes.name, uuid: nodes.uuid, provisionState: nodes.provisionState, owedWipe: nodes.owedWipe },
      flow: { ...getTableColumns(flows), ...nodeFlow },
    })
    .from(flows)
    .innerJoin(nodes, eq(nodes.uuid, flows.nodeUuid))
    .where(and(eq(flows.actionId, actionId), isAmong(nodes.name, names)))
    .orderBy(asc(flows.startedAt));
  const uuids = rows.map(({ flow }) => flow.uuid);
  const steps =
    uuids.length === 0
      ? []
      : await db.select().from(flowSteps).where(isAmong(flowSteps.flowUuid, uuids)).orderBy(asc(flowSteps.position));
  const byFlow = Map.groupBy(steps, ({ flowUuid }) => flowUuid);
  const byName = Map.groupBy(rows, ({ node }) => node.name ?? '');
  return new Map(
    [...byName].map(([name, of]) => {
      const its = of.map(({ flow }) => ({ flow, steps: byFlow.get(flow.uuid) ?? [] }));
      const owing = of.find(({ node }) => node.owedWipe !== null);
      return [name, { its, wayToWipe: owing && wayToWipe(owing.node) }];
    }),
  );
}
