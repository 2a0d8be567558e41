import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { SiteFault } from '#conductor/model/site-fault.ts';
import { type OrderFault, orderTasks } from '#conductor/sites/plugins/order-tasks.ts';
import { loadPluginTasks } from '#conductor/sites/plugins/plugin-store.ts';
import type { Site } from '#conductor/sites/site.ts';

/**
 * What keeps a site's plugins from running together: ids that none of them has, circles.
 * @throws AppError `not_found` for one that was not uploaded
 */
export async function findPluginFaults(db: Queryable, plugins: Site['plugins']): Promise<SiteFault[]> {
  return orderTasks(await loadPluginTasks(db, plugins)).faults.map(pluginFault);
}

export function pluginFault({ name, message }: OrderFault): SiteFault {
  return { level: 'Error', name, message };
}
