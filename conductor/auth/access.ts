import type { Role } from '#conductor/kernel/caller.ts';
import type { NodeScope } from '#conductor/nodes/node-ownership.ts';

/**
 * The least role that may do it, by whom the caller acts for: nobody in particular (all nodes are theirs), the project
 * that owns the node, the project that has leased it. Absent = nobody of these. As Ironic's own policies have it
 * (`ironic/common/policy.py`), whose "system" is a caller without project, but for what only administrators may here:
 * enrol, delete, describe how a BMC is reached.
 */
export interface Access {
  readonly everywhere: Role;
  readonly owner?: Role;
  readonly lessee?: Role;
}

/** The part of the request that says which node, and so which project, it is about. */
type Scope =
  /** No node: owner's role is any project's. */
  | 'none'
  /** The handler lists, finds and makes only what is the caller's project's. */
  | 'handler'
  | NodeScope;

export interface AccessRule {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path as in the OpenAPI document. */
  readonly path: string;
  /** Ironic's name for it, which refusals carry; ours begin with `baton:`. */
  readonly policy: string;
  readonly scope: Scope;
  readonly access: Access | 'public';
}

export const read: Access = { everywhere: 'reader', owner: 'reader', lessee: 'reader' };
export const ownerReads: Access = { everywhere: 'reader', owner: 'reader' };
export const readEverywhere: Access = { everywhere: 'reader' };
export const operate: Access = { everywhere: 'member', owner: 'member', lessee: 'admin' };
export const ownerOperates: Access = { everywhere: 'member', owner: 'member' };
export const operateEverywhere: Access = { everywhere: 'member' };
export const manage: Access = { everywhere: 'member', owner: 'admin' };
export const manageVolumes: Access = { everywhere: 'member', owner: 'admin', lessee: 'admin' };
export const allocate: Access = { everywhere: 'member', owner: 'member', lessee: 'member' };
export const administer: Access = { everywhere: 'admin' };
export const administerOwn: Access = { everywhere: 'admin', owner: 'admin' };
