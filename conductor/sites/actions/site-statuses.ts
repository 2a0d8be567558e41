import { asc } from 'drizzle-orm';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { AppError } from '#shared/errors/app-error.ts';

const siteStatusFilters = ['nodes-provision-status', 'machines-power-state'] as const;

/**
 * `GET /site_statuses` (airship.md §4.7): what is known of every node without asking it.
 * @param filters comma list; absent or empty = all
 * @throws AppError `invalid_argument` for one that there is not
 */
export async function readSiteStatuses(
  { db }: Pick<SitesContext, 'db'>,
  filters: string | undefined,
): Promise<Record<string, unknown>> {
  const asked = (filters ?? '').split(',').filter((name) => name !== '');
  const unknown = asked.find((name) => !siteStatusFilters.some((each) => each === name));
  if (unknown !== undefined) {
    const message = `filters: there is no '${unknown}'; must be of ${siteStatusFilters.join(', ')}`;
    throw new AppError('invalid_argument', message);
  }
  const wants = (filter: (typeof siteStatusFilters)[number]) => asked.length === 0 || asked.includes(filter);
  const rows = await db
    .select({ uuid: nodes.uuid, name: nodes.name, status: nodes.provisionState, powerState: nodes.powerState })
    .from(nodes)
    .orderBy(asc(nodes.name), asc(nodes.id));
  const named = rows.map((row) => ({ ...row, hostname: row.name ?? row.uuid }));
  return {
    ...(wants('nodes-provision-status')
      ? { nodes_provision_status: named.map(({ hostname, status }) => ({ hostname, status })) }
      : {}),
    ...(wants('machines-power-state')
      ? { machines_powerstate: named.map(({ hostname, powerState }) => ({ hostname, power_state: powerState })) }
      : {}),
  };
}
