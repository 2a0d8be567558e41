import type { Access, AccessRule } from '#conductor/auth/access-rules.ts';
import { type Caller, hasRole, type Role } from '#conductor/kernel/caller.ts';
import type { Ownership } from '#conductor/nodes/node-ownership.ts';

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

/** Rules by `GET /v1/nodes/:node`, as hono has its routes. */
export function indexRules(rules: readonly AccessRule[]): ReadonlyMap<string, AccessRule> {
  return new Map(rules.map((rule) => [`${rule.method} ${rule.path.replaceAll(/\{(\w+)\}/g, ':$1')}`, rule]));
}
