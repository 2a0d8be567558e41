import type { Access, AccessRule } from '#conductor/auth/access-rules.ts';
import { type Caller, hasRole, type Role } from '#conductor/kernel/caller.ts';
import type { Ownership } from '#conductor/nodes/node-ownership.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Whether the caller may.
 * @param ownership of the node that it is about; `undefined` where it is about none.
 * @returns `hidden` for a node that is nothing of the caller's: its existence is none of their business. Pure.
 */
export function judge(
  access: Access,
  caller: Caller,
  ownership: Ownership | undefined,
): 'allowed' | 'hidden' | { readonly needed: Role | undefined } {
  const needed = neededRoles(access, caller, ownership);
  if (needed === undefined) return 'hidden';
  if (needed.some((role) => role !== undefined && hasRole(caller, role))) return 'allowed';
  return { needed: needed.find((role) => role !== undefined) };
}

/** One of these is enough; `undefined` altogether for a node that is nothing of the caller's. */
function neededRoles(
  access: Access,
  { project }: Caller,
  ownership: Ownership | undefined,
): (Role | undefined)[] | undefined {
  if (project === undefined) return [access.everywhere];
  if (!ownership) return [access.owner, access.lessee];
  const isOwner = ownership.owner === project;
  const isLessee = ownership.lessee === project;
  if (!isOwner && !isLessee) return undefined;
  return [isOwner ? access.owner : undefined, isLessee ? access.lessee : undefined];
}

/** In Ironic's words, with what would be needed behind them. */
export function accessDenied(policy: string, caller: Caller, needed: Role | undefined): AppError {
  const has = `you have ${caller.role}${caller.project === undefined ? '' : ` in project ${caller.project}`}`;
  const why =
    needed === undefined
      ? `it is not for callers bound to a project, or not for a node's lessee`
      : `it needs the role ${needed}`;
  return new AppError('forbidden', `Access was denied to the following resource: ${policy} (${why}; ${has}).`);
}

/** Rules by `GET /v1/nodes/:node`, as hono has its routes. */
export function indexRules(rules: readonly AccessRule[]): ReadonlyMap<string, AccessRule> {
  return new Map(rules.map((rule) => [`${rule.method} ${rule.path.replaceAll(/\{(\w+)\}/g, ':$1')}`, rule]));
}
