import { countDistinct } from 'drizzle-orm';
import { isOlderThan } from '#conductor/kernel/conductors/work-known.ts';
import { siteNodes } from '#conductor/kernel/db/schema/site.ts';
import { actionTable, readActionParameters } from '#conductor/model/action-table.ts';
import type { ActionWork, StepEnd } from '#conductor/sites/actions/action-work.ts';

/** Is there who can do the work, and for `update_site` anything to update (airship.md §4.5)? */
export async function preflight({ context, action }: ActionWork): Promise<StepEnd> {
  const live = await context.conductors.live();
  if (live.length === 0) return { event: 'failed', error: 'no conductor is alive' };
  const { needs = 0 } = actionTable[action.name];
  const older = live.filter((each) => needs > 0 && isOlderThan(needs, each)).map(({ hostname }) => hostname);
  if (older.length > 0) {
    const error = `conductors of an older release are alive, which do not know ${action.name}: ${older.join(', ')}`;
    return { event: 'failed', error };
  }
  const names = live.map(({ hostname }) => hostname).join(', ');
  const notes = [{ step: 'preflight', verbosity: 2, text: `conductors: ${names}` }] as const;
  if (action.name !== 'update_site') return { event: 'succeeded', notes };
  const parameters = readActionParameters(action.name, action.parameters);
  const [row] = await context.db.select({ count: countDistinct(siteNodes.name) }).from(siteNodes);
  if ((row?.count ?? 0) > 0 || parameters['continue-on-fail'] === true) return { event: 'succeeded', notes };
  const error =
    'no node of this site is deployed yet: use deploy_site, or give continue-on-fail=true to deploy whatever is missing';
  return { event: 'failed', error, notes };
}
