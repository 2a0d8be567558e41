import { randomUUID } from 'node:crypto';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import type { FlowRequest } from '#conductor/model/flows/flow-states.ts';
import type { ActionName } from '#conductor/model/site/action-parameters.ts';

/** Requests of operators, as the flow has them. */
export const asked: Readonly<Record<FlowRequest, Pick<typeof flows.$inferInsert, 'held' | 'abortRequested'>>> = {
  run: { held: null, abortRequested: null },
  hold: { held: 'paused', abortRequested: null },
  abort: { held: null, abortRequested: 'stopped' },
};

/** An action and its flow, without steps. */
export async function addAction(
  db: Queryable,
  {
    id,
    name = 'deploy_site',
    flow = {},
    ...row
  }: Partial<typeof siteActions.$inferInsert> & {
    readonly id: string;
    readonly name?: ActionName;
    readonly flow?: Partial<typeof flows.$inferInsert>;
  },
): Promise<void> {
  await db.insert(siteActions).values({ id, revisionId: 1, contextMarker: 'test', fitToken: row.token ?? 0, ...row });
  await db.insert(flows).values({ uuid: randomUUID(), siteActionId: id, kind: name, state: 'running', ...flow });
}
