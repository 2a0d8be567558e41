export const roles = ['reader', 'member', 'admin'] as const;
export type Role = (typeof roles)[number];

/** Who asks, on whose behalf. */
export interface Caller {
  /** As history and logs name them; `undefined` where nobody is asked for a name. */
  readonly user: string | undefined;
  readonly role: Role;
  /** Sees and touches only what this owner or lessee has; `undefined` = everything. */
  readonly project: string | undefined;
  /** What acts in that user's name: `site action 01J…`. */
  readonly via?: string | undefined;
}

/** With `BATON_AUTH=none`: whoever reaches the API is its administrator. */
export const anybody: Caller = { user: undefined, role: 'admin', project: undefined };

/** Each role may what the ones before it may. */
export function hasRole(caller: Pick<Caller, 'role'>, needed: Role): boolean {
  return roles.indexOf(caller.role) >= roles.indexOf(needed);
}
