import type { SiteAction } from '#conductor/flows/actions/action-store.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { notifyWebhooksOfSite } from '#conductor/kernel/outbox.ts';
import { ulidAsUuid } from '#conductor/sites/actions/ulid.ts';

/** Tells webhooks what has become of an action, in the transaction that made it so. */
export async function notifyOfAction(
  db: Queryable,
  { id, name, state, error, user, revisionId }: SiteAction,
): Promise<void> {
  await notifyWebhooksOfSite(db, ulidAsUuid(id), { action: { id, name }, state, error, user, revision: revisionId });
}
