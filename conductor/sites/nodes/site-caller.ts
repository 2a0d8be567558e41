import type { Caller } from '#conductor/kernel/caller.ts';
import type { SiteWork } from '#conductor/sites/nodes/node-order.ts';

/** Nodes are written as by clients of today: the newest version that the API serves. */
export const requestVersion = 96;

/** In whose name an action asks for what it does: its user's, who is an administrator, or there would be no action. */
export function siteCaller({ id, user }: SiteWork['action']): Caller {
  return { user: user ?? undefined, role: 'admin', project: undefined, via: `site action ${id}` };
}
