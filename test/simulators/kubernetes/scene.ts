import { randomBytes } from 'node:crypto';
import {
  apiVersionOf,
  type Draft,
  type Json,
  type OwnerReference,
  type Part,
  type Resource,
  resourceTypes,
} from '#test/simulators/kubernetes/resource.ts';

/** Drafts of what a cluster usually has. */

export function newNode(name: string, labels: Readonly<Record<string, string>> = {}, bootId = `${name}-boot-0`): Draft {
  return {
    metadata: {
      name,
      labels: {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        'beta.kubernetes.io/os': 'linux',
        ...labels,
      },
    },
    spec: {},
    status: { ...nodeStatus('True'), nodeInfo: { bootID: bootId } },
  };
}

export function nodeStatus(ready: 'True' | 'False' | 'Unknown'): Part {
  const reasons = { True: 'KubeletReady', False: 'KubeletNotReady', Unknown: 'NodeStatusUnknown' };
  return { conditions: [{ type: 'Ready', status: ready, reason: reasons[ready] }] };
}

export interface PodRequest {
  readonly name?: string;
  readonly namespace?: string;
  readonly node?: string;
  /** The set whose template it is made from. */
  readonly owner?: Resource;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed';
  readonly hasLocalData?: boolean;
  readonly graceSeconds?: number;
}

interface Template {
  readonly metadata?: {
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: Readonly<Record<string, Json | undefined>>;
}

export function newPod(request: PodRequest): Draft {
  const { owner, node, finalizers } = request;
  const template = (owner?.spec?.['template'] ?? {}) as Template;
  const name = request.name ?? `${owner?.metadata.name ?? 'pod'}-${randomBytes(3).toString('hex')}`;
  const namespace = owner?.metadata.namespace ?? request.namespace ?? 'default';
  const volumes = request.hasLocalData === true ? { volumes: [{ name: 'scratch', emptyDir: {} }] } : {};
  return {
    metadata: {
      name,
      namespace,
      labels: { ...template.metadata?.labels, ...request.labels },
      annotations: { ...template.metadata?.annotations, ...request.annotations },
      ...(owner ? { ownerReferences: [referenceTo(owner)] } : {}),
      ...(finalizers ? { finalizers } : {}),
    },
    spec: {
      containers: [{ name: 'main', image: 'main:1' }],
      terminationGracePeriodSeconds: request.graceSeconds ?? 30,
      ...template.spec,
      ...volumes,
      ...(node === undefined ? {} : { nodeName: node }),
    },
    status: podStatus(request.phase ?? 'Pending'),
  };
}

export function podStatus(phase: NonNullable<PodRequest['phase']>): Part {
  return { phase, conditions: [{ type: 'Ready', status: phase === 'Running' ? 'True' : 'False' }] };
}

function referenceTo({ kind, metadata }: Resource): OwnerReference {
  const type = resourceTypes.find((each) => each.kind === kind);
  return {
    apiVersion: type ? apiVersionOf(type) : 'v1',
    kind,
    name: metadata.name,
    uid: metadata.uid,
    controller: true,
  };
}

/** A ReplicaSet, or a DaemonSet without `replicas`. */
export function newSet(
  name: string,
  options: {
    readonly replicas?: number;
    readonly nodeSelector?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  } = {},
): Draft {
  const labels = { app: name };
  const { replicas, nodeSelector, annotations } = options;
  return {
    metadata: { name, labels },
    spec: {
      ...(replicas === undefined ? {} : { replicas }),
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, ...(annotations ? { annotations } : {}) },
        spec: nodeSelector ? { nodeSelector } : {},
      },
    },
    status: {},
  };
}

export function newBudget(name: string, app: string, minAvailable: number | string): Draft {
  return { metadata: { name }, spec: { minAvailable, selector: { matchLabels: { app } } }, status: {} };
}
