import { randomUUID } from 'node:crypto';
import { conflict, notFound, Refusal } from '#test/simulators/kubernetes/refusal.ts';
import {
  apiVersionOf,
  type Draft,
  type Metadata,
  type Resource,
  typeOf,
} from '#test/simulators/kubernetes/resource.ts';

export interface Change {
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly plural: string;
  readonly object: Resource;
  /** Before it; a watch with a selector tells by it whether the object came or went. */
  readonly previous: Resource | undefined;
}

/** All objects with one version counter for all, as etcd has it, and the changes that watches can start from. */
export interface Store {
  version(): number;
  list(plural: string, namespace?: string): Resource[];
  find(plural: string, name: string, namespace?: string): Resource | undefined;
  /** @throws Refusal NotFound */
  get(plural: string, name: string, namespace?: string): Resource;
  /** @param uid default: a new one. @throws Refusal AlreadyExists */
  create(plural: string, draft: Draft, uid?: string): Resource;
  /** @throws Refusal Conflict when the draft has another version or uid than the object, NotFound */
  replace(plural: string, draft: Draft): Resource;
  remove(plural: string, object: Resource): Resource;
  /** @returns the changes after that version, or `undefined` when they are no longer known (410) */
  since(version: number): readonly Change[] | undefined;
  subscribe(listener: (change: Change) => void): () => void;
  /** Forgets all changes until now, as compaction does: watches of older versions are told 410. */
  compact(): void;
}

const keptChanges = 5_000;

export function createStore(): Store {
  const objects = new Map<string, Map<string, Resource>>();
  const listeners = new Set<(change: Change) => void>();
  const state = { version: 1, compacted: 0 };
  let changes: Change[] = [];

  const table = (plural: string): Map<string, Resource> => {
    const known = objects.get(plural) ?? new Map<string, Resource>();
    objects.set(plural, known);
    return known;
  };
  const find: Store['find'] = (plural, name, namespace) =>
    table(plural).get(key(name, typeOf(plural).namespaced ? (namespace ?? 'default') : undefined));
  const get: Store['get'] = (plural, name, namespace) => {
    const object = find(plural, name, namespace);
    if (!object) throw notFound(plural, name);
    return object;
  };
  const record = (type: Change['type'], plural: string, draft: Resource, previous: Resource | undefined): Resource => {
    state.version += 1;
    const object = { ...draft, metadata: { ...draft.metadata, resourceVersion: String(state.version) } };
    const place = key(object.metadata.name, object.metadata.namespace);
    if (type === 'DELETED') table(plural).delete(place);
    else table(plural).set(place, object);
    const change = { version: state.version, type, plural, object, previous };
    changes.push(change);
    if (changes.length > keptChanges) {
      changes = changes.slice(-keptChanges / 2);
      state.compacted = (changes[0]?.version ?? 1) - 1;
    }
    for (const listener of listeners) listener(change);
    return object;
  };

  return {
    version: () => state.version,
    list: (plural, namespace) =>
      [...table(plural).values()].filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace),
    find,
    get,
    create: (plural, draft, uid = randomUUID()) => {
      const type = typeOf(plural);
      const namespace = type.namespaced ? (draft.metadata.namespace ?? 'default') : undefined;
      if (find(plural, draft.metadata.name, namespace)) {
        throw new Refusal(409, 'AlreadyExists', `${plural} "${draft.metadata.name}" already exists`);
      }
      const metadata: Metadata = {
        ...draft.metadata,
        ...(namespace === undefined ? {} : { namespace }),
        uid,
        resourceVersion: '',
        creationTimestamp: timestamp(),
      };
      return record(
        'ADDED',
        plural,
        { ...draft, apiVersion: apiVersionOf(type), kind: type.kind, metadata },
        undefined,
      );
    },
    replace: (plural, draft) => {
      const { name, namespace } = draft.metadata;
      const current = get(plural, name, namespace);
      requireFresh(plural, current.metadata, draft.metadata);
      const { apiVersion, kind } = current;
      const { creationTimestamp, uid: ownUid } = current.metadata;
      const metadata = { ...draft.metadata, uid: ownUid, creationTimestamp, resourceVersion: '' };
      return record('MODIFIED', plural, { ...draft, apiVersion, kind, metadata }, current);
    },
    remove: (plural, object) => record('DELETED', plural, object, object),
    since: (version) => (version < state.compacted ? undefined : changes.filter((change) => change.version > version)),
    subscribe: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    compact: () => {
      changes = [];
      state.compacted = state.version;
    },
  };
}

function requireFresh(plural: string, current: Metadata, { resourceVersion, uid }: Partial<Metadata>): void {
  const { name } = current;
  if (resourceVersion !== undefined && resourceVersion !== current.resourceVersion) {
    throw conflict(plural, name, 'the object has been modified; please apply your changes to the latest version');
  }
  if (uid !== undefined && uid !== current.uid) throw conflict(plural, name, 'the uid is another');
}

/** RFC 3339 in whole seconds, as Kubernetes writes times. */
export function timestamp(atMs: number = Date.now()): string {
  return `${new Date(atMs).toISOString().slice(0, 19)}Z`;
}

function key(name: string, namespace: string | undefined): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}
