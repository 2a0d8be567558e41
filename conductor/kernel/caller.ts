import type { OfRequest } from '#conductor/model/request-ids.ts';
import { AppError } from '#shared/errors/app-error.ts';

export const roles = ['reader', 'member', 'admin'] as const;
export type Role = (typeof roles)[number];

/** The sender of a request, the project that it is for, and the ids by which it is followed. */
export interface Caller extends OfRequest {
  /** Name for history and logs; `undefined` where nobody is asked for a name. */
  readonly user: string | undefined;
  readonly role: Role;
  /** Sees and touches only what this owner or lessee has; `undefined` = everything. */
  readonly project: string | undefined;
  /** The thing that acts in that user's name: `site action 01J…`. */
  readonly via?: string | undefined;
}

/** With `BATON_AUTH=none`: anyone who reaches the API is its administrator. */
export const openApiCaller: Caller = { user: undefined, role: 'admin', project: undefined };

/** Checks for a role; each role includes the rights of those before it. */
export function hasRole(caller: Pick<Caller, 'role'>, needed: Role): boolean {
  return roles.indexOf(caller.role) >= roles.indexOf(needed);
}

/** Makes the refusal in Ironic's words, followed by the role that would be needed. */
export function accessDenied(policy: string, caller: Caller, needed: Role | undefined): AppError {
  const has = `you have ${caller.role}${caller.project === undefined ? '' : ` in project ${caller.project}`}`;
  const why =
    needed === undefined
      ? `it is not for callers bound to a project, or not for a node's lessee`
      : `it needs the role ${needed}`;
  return new AppError('forbidden', `Access was denied to the following resource: ${policy} (${why}; ${has}).`);
}
