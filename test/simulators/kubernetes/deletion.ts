import { conflict } from '#test/simulators/kubernetes/refusal.ts';
import { type Draft, nodeOf, phaseOf, type Resource } from '#test/simulators/kubernetes/resource.ts';
import { type Store, timestamp } from '#test/simulators/kubernetes/store.ts';

/** `meta/v1.DeleteOptions`, as far as it is honoured. */
export interface DeleteOptions {
  readonly gracePeriodSeconds?: number | null;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

/**
 * Deletes as the API server does: pods that run somewhere get a deletion timestamp and stay until their kubelet has
 * stopped them; what has finalizers stays until those are taken away.
 * @returns the object as it is now; its last state when it is gone
 */
export function deleteObject(store: Store, plural: string, object: Resource, options: DeleteOptions = {}): Resource {
  const { name, uid, resourceVersion } = object.metadata;
  const { preconditions } = options;
  if (preconditions?.uid !== undefined && preconditions.uid !== uid) {
    throw conflict(
      plural,
      name,
      `Precondition failed: UID in precondition: ${preconditions.uid}, UID in object: ${uid}`,
    );
  }
  if (preconditions?.resourceVersion !== undefined && preconditions.resourceVersion !== resourceVersion) {
    throw conflict(plural, name, 'Precondition failed: ResourceVersion in precondition is another');
  }
  const grace = graceOf(plural, object, options);
  const isHeld = (object.metadata.finalizers ?? []).length > 0;
  if (grace === 0 && !isHeld) return store.remove(plural, object);
  const before = object.metadata.deletionGracePeriodSeconds;
  // it only ever becomes shorter
  if (object.metadata.deletionTimestamp !== undefined && before !== undefined && before <= grace) return object;
  return store.replace(plural, {
    ...object,
    metadata: {
      ...object.metadata,
      deletionTimestamp: timestamp(Date.now() + grace * 1000),
      deletionGracePeriodSeconds: grace,
    },
  });
}

function graceOf(plural: string, object: Resource, { gracePeriodSeconds }: DeleteOptions): number {
  if (plural !== 'pods') return 0;
  if (nodeOf(object) === undefined || isFinished(object)) return 0;
  if (typeof gracePeriodSeconds === 'number') return Math.max(0, gracePeriodSeconds);
  const own = object.spec?.['terminationGracePeriodSeconds'];
  return typeof own === 'number' ? own : 30;
}

export function isFinished(pod: Resource): boolean {
  return ['Succeeded', 'Failed'].includes(phaseOf(pod));
}

/** Stores a change; what was only held by its finalizers goes when the last one is taken away. */
export function storeChange(store: Store, plural: string, draft: Draft): Resource {
  const object = store.replace(plural, draft);
  const { deletionTimestamp, finalizers, deletionGracePeriodSeconds } = object.metadata;
  const isOver = deletionTimestamp !== undefined && (deletionGracePeriodSeconds ?? 0) === 0;
  return isOver && (finalizers ?? []).length === 0 ? store.remove(plural, object) : object;
}
