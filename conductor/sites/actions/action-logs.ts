import { asc, eq } from 'drizzle-orm';
import { flowEvents, flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { pluginTaskTitle } from '#conductor/model/planned-step.ts';
import { listNotes } from '#conductor/sites/actions/note-store.ts';
import type { SitesContext } from '#conductor/sites/context.ts';

/** Of 10,000 nodes' events the first ones: the rest stands in each node's own history. */
const maximumEvents = 50_000;

/**
 * What has happened in one step of an action, a line each, in order of time: its notes of every verbosity, and for the
 * step that deploys nodes what their flows did.
 */
export async function readActionLog(
  { db }: Pick<SitesContext, 'db'>,
  step: { readonly actionId: string; readonly name: string },
): Promise<string> {
  const notes = await listNotes(db, [step.actionId], { verbosity: 5, step: step.name });
  const lines = notes.map(({ at, subject, text }) => ({
    at,
    text: `${subject === null ? '' : `${subject}: `}${text}`,
  }));
  if (step.name === 'baremetal_nodes') lines.push(...(await readNodeEvents(db, step.actionId)));
  const inOrder = lines.sort((one, other) => one.at.getTime() - other.at.getTime());
  return inOrder.map(({ at, text }) => `${at.toISOString()} ${text.replaceAll('\n', '\n  ')}\n`).join('');
}

async function readNodeEvents(db: SitesContext['db'], actionId: string): Promise<{ at: Date; text: string }[]> {
  const rows = await db
    .select({
      at: flowEvents.at,
      event: flowEvents.event,
      detail: flowEvents.detail,
      interface: flowSteps.interface,
      step: flowSteps.step,
      plugin: flowSteps.plugin,
      kind: flows.kind,
      node: nodes.name,
      uuid: nodes.uuid,
    })
    .from(flows)
    .innerJoin(flowEvents, eq(flowEvents.flowUuid, flows.uuid))
    .innerJoin(flowSteps, eq(flowSteps.uuid, flowEvents.stepUuid))
    .innerJoin(nodes, eq(nodes.uuid, flows.nodeUuid))
    .where(eq(flows.actionId, actionId))
    .orderBy(asc(flowEvents.id))
    .limit(maximumEvents + 1);
  const lines = rows.slice(0, maximumEvents).map((row) => {
    const step = row.plugin ? pluginTaskTitle(row.plugin) : `${row.interface}.${row.step}`;
    const detail = row.detail === null ? '' : `: ${row.detail}`;
    return { at: row.at, text: `${row.node ?? row.uuid}: ${row.kind}: ${step} ${row.event}${detail}` };
  });
  const last = lines.at(-1);
  if (rows.length > maximumEvents && last) lines.push({ at: last.at, text: 'more events are in the nodes’ histories' });
  return lines;
}
