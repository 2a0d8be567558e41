import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { WipeRequest } from '#conductor/model/flows/flow-states.ts';
import { type ProvisionVerb, provisionVerbs } from '#conductor/model/provision-states.ts';
import { AppError } from '#shared/errors/app-error.ts';

interface WipingRequest {
  readonly verb: ProvisionVerb;
  readonly wipe?: WipeRequest | undefined;
}

type Debtor = Pick<NodeRow, 'uuid' | 'name' | 'provisionState' | 'owedWipe'>;

/** @throws AppError `invalid_argument` for a wipe with a verb that it does not go with */
export function requireWipingVerb({ verb, wipe }: WipingRequest): void {
  if (!wipe || mayWipe(verb)) return;
  throw new AppError(
    'invalid_argument',
    `wipe: it is only possible with deleted, undeploy and provide, not with '${verb}'.`,
  );
}

/**
 * Returns the wipe that a verb is to end with: the request's, else the one that the node owes. Pure.
 * @throws AppError `conflict` for one that would preserve what is owed to be wiped
 */
export function wipeOf(node: Debtor, { verb, wipe }: WipingRequest): WipeRequest | undefined {
  if (!mayWipe(verb)) return undefined;
  const { owedWipe: owed } = node;
  if (wipe && owed && !paysOwedWipe(wipe, owed)) {
    throw new AppError(
      'conflict',
      `Node ${node.uuid} owes a wipe of all its disks, which was requested and has not completed: local storage ` +
        'can not be preserved any more. Ask without preserve_local_storage.',
    );
  }
  return wipe ?? owed ?? undefined;
}

/** The one that leaves nothing of what either is to wipe. */
export function coveringWipe(one: WipeRequest | null, other: WipeRequest | null): WipeRequest | null {
  if (!one || !other) return one ?? other;
  return { preserveLocalStorage: one.preserveLocalStorage && other.preserveLocalStorage };
}

/** Returns whether nothing of `owed` is left when `done` was. */
export function paysOwedWipe(done: WipeRequest, owed: WipeRequest): boolean {
  return owed.preserveLocalStorage || !done.preserveLocalStorage;
}

/**
 * Refuses to deploy onto disks that are still to be wiped.
 * @throws AppError `conflict` saying what wipes them
 */
export function requireNoOwedWipe(node: Debtor, verb: ProvisionVerb): void {
  const { event } = provisionVerbs[verb];
  if (!node.owedWipe || (event !== 'deploy' && event !== 'rebuild')) return;
  throw new AppError('conflict', `'${verb}' is not possible: ${owes(node)}.`);
}

/** @throws AppError `conflict`: a node that is enrolled again owes nothing */
export function requireForgettable(node: Debtor): void {
  if (!node.owedWipe) return;
  throw new AppError(
    'conflict',
    `Node ${node.uuid} can not be deleted: ${owes(node)}. In maintenance it can be; the owed wipe is then forgotten.`,
  );
}

function owes(node: Debtor): string {
  const which = node.owedWipe?.preserveLocalStorage ? 'its operating system' : 'all its disks';
  return `node ${node.uuid} owes a wipe of ${which}, which was requested and has not completed: ${wayToWipe(node)}`;
}

/** Composes what an operator has to say for the wipe to be done: pure. */
export function wayToWipe({ name, uuid, provisionState }: Omit<Debtor, 'owedWipe'>): string {
  const node = name ?? uuid;
  if (provisionState === 'manageable') return `\`baton provide ${node}\` wipes it`;
  const leaves = provisionState.endsWith('failed') && !/deploy|rescue|service/.test(provisionState);
  if (leaves || provisionState === 'available') return `\`baton manage ${node}\` and \`baton provide ${node}\` wipe it`;
  return `\`baton undeploy ${node}\` wipes it`;
}

function mayWipe(verb: ProvisionVerb): boolean {
  const { event } = provisionVerbs[verb];
  return event === 'delete' || event === 'provide';
}
