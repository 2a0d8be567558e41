import { z } from 'zod';
import { type Announce, makeChanges } from '#conductor/cluster/cluster-changes.ts';
import type { Cluster } from '#conductor/cluster/kubernetes/client/cluster.ts';
import { notUnderstood, parseReply, readPage } from '#conductor/cluster/kubernetes/client/read-answer.ts';
import { isAbsent } from '#conductor/cluster/kubernetes/client/refusal.ts';
import { apiPath, mergePatch } from '#conductor/cluster/kubernetes/client/share-cluster.ts';
import { newRemark, remarkError } from '#conductor/model/remarks/remark-words.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Kubernetes' objects, as far as rounds read them. */

const OwnerReference = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
  controller: z.boolean().optional(),
});

export const Requirement = z.looseObject({
  key: z.string(),
  operator: z.string(),
  values: z.array(z.string()).nullish(),
});
export type Requirement = z.infer<typeof Requirement>;

const NodeSelectorTerm = z.looseObject({
  matchExpressions: z.array(Requirement).nullish(),
  matchFields: z.array(Requirement).nullish(),
});

const Pod = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string(),
    uid: z.string(),
    labels: z.record(z.string(), z.string()).nullish(),
    annotations: z.record(z.string(), z.string()).nullish(),
    ownerReferences: z.array(OwnerReference).nullish(),
    finalizers: z.array(z.string()).nullish(),
    deletionTimestamp: z.string().nullish(),
    deletionGracePeriodSeconds: z.number().nullish(),
  }),
  spec: z.looseObject({
    nodeName: z.string().nullish(),
    nodeSelector: z.record(z.string(), z.string()).nullish(),
    affinity: z
      .looseObject({
        nodeAffinity: z
          .looseObject({
            requiredDuringSchedulingIgnoredDuringExecution: z
              .looseObject({ nodeSelectorTerms: z.array(NodeSelectorTerm) })
              .nullish(),
          })
          .nullish(),
      })
      .nullish(),
    volumes: z.array(z.looseObject({ name: z.string(), emptyDir: z.unknown().optional() })).nullish(),
  }),
  status: z
    .looseObject({
      phase: z.string().optional(),
      conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).nullish(),
    })
    .optional(),
});
export type Pod = z.infer<typeof Pod>;

/** Fields of a pod that decide whether it goes. A whole one is ten kilobytes and more. */
export interface PodOutline {
  readonly metadata: Pick<Pod['metadata'], 'name' | 'namespace' | 'labels' | 'annotations' | 'deletionTimestamp'> & {
    readonly ownerReferences?: readonly PodOwner[] | null | undefined;
  };
  readonly spec: { readonly volumes?: readonly { readonly emptyDir?: unknown }[] | null | undefined };
  readonly status?: Pick<NonNullable<Pod['status']>, 'phase' | 'conditions'> | undefined;
}
export type PodOwner = Pick<z.infer<typeof OwnerReference>, 'apiVersion' | 'kind' | 'name' | 'controller'>;

export const ClusterNode = z.looseObject({
  metadata: z.looseObject({
    name: z.string(),
    uid: z.string(),
    resourceVersion: z.string(),
    creationTimestamp: z.string().nullish(),
    labels: z.record(z.string(), z.string()).nullish(),
    annotations: z.record(z.string(), z.string()).nullish(),
    deletionTimestamp: z.string().nullish(),
    finalizers: z.array(z.string()).nullish(),
  }),
  spec: z.looseObject({ unschedulable: z.boolean().nullish() }).optional(),
  status: z
    .looseObject({
      nodeInfo: z
        .looseObject({
          systemUUID: z.string().nullish(),
          machineID: z.string().nullish(),
          bootID: z.string().nullish(),
        })
        .nullish(),
      conditions: z
        .array(
          z.looseObject({
            type: z.string(),
            status: z.string(),
            reason: z.string().nullish(),
            message: z.string().nullish(),
            lastTransitionTime: z.string().nullish(),
          }),
        )
        .nullish(),
    })
    .optional(),
});
export type ClusterNode = z.infer<typeof ClusterNode>;

export const nodesPath = '/api/v1/nodes';
export const podsPath = '/api/v1/pods';

/** Each look begins with it, and holds its node's lease: a server that is dead must not keep an abort waiting. */
const nodeTimeoutMs = 5_000;

const isDnsName = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;

/** @throws AppError `not_found` with `details.reason` `NotFound` when the cluster has no such node */
export async function readNode(cluster: Cluster, name: string, signal?: AbortSignal): Promise<ClusterNode> {
  if (!isDnsName.test(name)) throw unknownNode(cluster, name);
  try {
    const reply = await cluster.request('GET', apiPath(nodesPath, name), { signal, timeoutMs: nodeTimeoutMs });
    const node = parseReply(ClusterNode, reply, `node ${name}`);
    if (node.metadata.name === name) return node;
    throw notUnderstood(`node ${name}`, `it is about ${node.metadata.name}`);
  } catch (error) {
    if (isAbsent(error, { kind: 'nodes', name })) throw unknownNode(cluster, name);
    throw error;
  }
}

export function unknownNode(cluster: Cluster, name: string): AppError {
  const remark = newRemark('unknown-in-cluster', { server: cluster.server, node: name });
  return remarkError('not_found', remark);
}

export async function listPodsOf(cluster: Cluster, node: string, signal?: AbortSignal): Promise<Pod[]> {
  const what = `pods of node ${node}`;
  const pods = await listAll(cluster, podsPath, Pod, { what, query: podsOf(node), signal });
  // whatever stands before the server may leave the selector out, and these are to be evicted
  const stray = pods.find(({ spec }) => spec.nodeName !== node);
  if (!stray) return pods;
  throw notUnderstood(what, `pod ${podName(stray)} is in it, which is on ${stray.spec.nodeName ?? 'no node'}`);
}

/**
 * Lists all objects of a kind, page by page.
 * @param what it is called in errors
 * @throws AppError as `Cluster.request`; `unavailable` for a list of which a part is missing
 */
export async function listAll<Item>(
  cluster: Cluster,
  path: string,
  item: z.ZodType<Item>,
  {
    what,
    query,
    signal,
  }: {
    readonly what: string;
    readonly query?: Readonly<Record<string, string>>;
    readonly signal: AbortSignal | undefined;
  },
): Promise<Item[]> {
  const items: Item[] = [];
  let next: string | undefined;
  do {
    const asked = { ...query, limit: '500', ...(next === undefined ? {} : { continue: next }) };
    const page = readPage(await cluster.request('GET', path, { query: asked, signal }), item, what);
    items.push(...page.items);
    if (page.next !== undefined && page.next === next)
      throw notUnderstood(what, 'each page of it is followed by itself');
    next = page.next;
  } while (next !== undefined);
  return items;
}

/** Returns the query that lists, and watches, the pods of a node. */
export function podsOf(node: string): Record<string, string> {
  return { fieldSelector: `spec.nodeName=${node}` };
}

/** Writes `namespace/name`, as kubectl writes it. */
export function podName({ metadata }: Pick<PodOutline, 'metadata'>): string {
  return `${metadata.namespace}/${metadata.name}`;
}

export function isFinished({ status }: Pick<PodOutline, 'status'>): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed';
}

/** Marks the node as unschedulable. @returns whether it was not so already */
export async function cordon(
  cluster: Cluster,
  node: ClusterNode,
  signal: AbortSignal,
  announce?: Announce,
): Promise<boolean> {
  if (isCordoned(node)) return false;
  const { name } = node.metadata;
  const body = { spec: { unschedulable: true } };
  await makeChanges(announce, [{ kind: 'cordon', name, message: `Node ${name} is cordoned` }], () =>
    cluster.request('PATCH', apiPath(nodesPath, name), { body, contentType: mergePatch, signal }),
  );
  return true;
}

export function isCordoned({ spec }: ClusterNode): boolean {
  return spec?.unschedulable === true;
}

/**
 * Returns whether a node's kubelet, or a pod, reports it as ready. `unknown`: nobody says so; the cluster has lost the
 * kubelet (it writes `Unknown` itself), or none has reported yet. What runs there may go on running.
 */
export function readReady({ status }: Pick<ClusterNode, 'status'>): 'ready' | 'not ready' | 'unknown' {
  const said = new Set(status?.conditions?.flatMap(({ type, status: value }) => (type === 'Ready' ? [value] : [])));
  if (said.size !== 1) return 'unknown';
  return said.has('True') ? 'ready' : said.has('False') ? 'not ready' : 'unknown';
}

/** Returns whether it is said to be ready; pods of a node that is not stay, since nobody confirms their end. */
export function isReady(of: Pick<ClusterNode, 'status'>): boolean {
  return readReady(of) === 'ready';
}
