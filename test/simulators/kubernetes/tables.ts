import { conditionOf, phaseOf, type Resource } from '#test/simulators/kubernetes/resource.ts';

/** `meta.k8s.io/v1.Table`: what `kubectl get` prints is made by the server. */

interface Column {
  readonly name: string;
  readonly cell: (object: Resource) => string;
}

const age: Column = { name: 'Age', cell: ({ metadata }) => `${ageSeconds(metadata.creationTimestamp)}s` };
const name: Column = { name: 'Name', cell: ({ metadata }) => metadata.name };

const columns: Readonly<Record<string, readonly Column[]>> = {
  nodes: [
    name,
    { name: 'Status', cell: nodeStatus },
    { name: 'Roles', cell: roles },
    age,
    { name: 'Version', cell: () => 'v1.27.0' },
  ],
  pods: [
    name,
    { name: 'Ready', cell: (pod) => (conditionOf(pod, 'Ready') === 'True' ? '1/1' : '0/1') },
    { name: 'Status', cell: (pod) => (pod.metadata.deletionTimestamp === undefined ? phaseOf(pod) : 'Terminating') },
    { name: 'Restarts', cell: () => '0' },
    age,
  ],
};

export function tableOf(plural: string, objects: readonly Resource[], resourceVersion: string): unknown {
  const shown = columns[plural] ?? [name, age];
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata: { resourceVersion },
    columnDefinitions: shown.map((column) => ({
      name: column.name,
      type: 'string',
      format: column.name === 'Name' ? 'name' : '',
      description: '',
      priority: 0,
    })),
    rows: objects.map((object) => ({
      cells: shown.map(({ cell }) => cell(object)),
      object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata },
    })),
  };
}

function nodeStatus(node: Resource): string {
  const ready = conditionOf(node, 'Ready') === 'True' ? 'Ready' : 'NotReady';
  return node.spec?.['unschedulable'] === true ? `${ready},SchedulingDisabled` : ready;
}

function roles({ metadata }: Resource): string {
  const prefix = 'node-role.kubernetes.io/';
  const found = Object.keys(metadata.labels ?? {}).filter((key) => key.startsWith(prefix));
  return found.length > 0 ? found.map((key) => key.slice(prefix.length)).join(',') : '<none>';
}

function ageSeconds(since: string): number {
  return Math.max(0, Math.round((Date.now() - Date.parse(since)) / 1000));
}
