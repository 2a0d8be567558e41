import { describe, expect, test } from 'vitest';
import { addedLabels, allowsNode, isOwnLabel } from '#conductor/cluster/kubernetes/client/node-labels.ts';
import type { ClusterNode, Pod } from '#conductor/cluster/kubernetes/client/objects.ts';

function node(labels: Record<string, string>): ClusterNode {
  return { metadata: { name: 'n1', uid: 'u', resourceVersion: '1', labels } };
}

function pod(spec: Pod['spec']): Pod {
  return { metadata: { name: 'p', namespace: 'default', uid: 'u' }, spec };
}

test.each([
  ['kubernetes.io/hostname', true],
  ['kubernetes.io/os', true],
  ['beta.kubernetes.io/arch', true],
  ['topology.kubernetes.io/zone', true],
  ['failure-domain.beta.kubernetes.io/region', true],
  ['node.kubernetes.io/instance-type', true],
  ['feature.node.kubernetes.io/cpu', true],
  ['kubelet.kubernetes.io/x', true],
  ['node-role.kubernetes.io/control-plane', false],
  ['node-restriction.kubernetes.io/fips', false],
  ['kubernetes.io/cluster-service', false],
  ['evil-node.kubernetes.io/x', false],
  ['rack', false],
  ['kubernetes.io', false],
  ['example.org/kubernetes.io', false],
])('%s is the kubelet’s own: %s', (label, isOwn) => {
  expect(isOwnLabel(label)).toBe(isOwn);
});

test('the label that stops the kubelet is not among those that were added', () => {
  const labels = { 'kubernetes.io/os': 'linux', 'promenade-decomission': 'enabled', rack: 'r1', 'a/b': '' };
  expect(addedLabels(node(labels))).toEqual(['rack', 'a/b']);
  expect(addedLabels({ metadata: { name: 'n1', uid: 'u', resourceVersion: '1' } })).toEqual([]);
});

describe('what a pod allows', () => {
  const labelled = node({ rack: 'r1', cores: '8' });
  const term = (key: string, operator: string, ...values: string[]) =>
    pod({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key, operator, values }] }],
          },
        },
      },
    });

  test.each([
    ['nothing asked', pod({}), true],
    ['its selector', pod({ nodeSelector: { rack: 'r1' } }), true],
    ['another value', pod({ nodeSelector: { rack: 'r2' } }), false],
    ['In', term('rack', 'In', 'r0', 'r1'), true],
    ['In, not', term('rack', 'In', 'r0'), false],
    ['NotIn', term('rack', 'NotIn', 'r1'), false],
    ['NotIn of a label that is not there', term('room', 'NotIn', 'x'), true],
    ['Exists', term('room', 'Exists'), false],
    ['DoesNotExist', term('room', 'DoesNotExist'), true],
    ['Gt', term('cores', 'Gt', '4'), true],
    ['Lt', term('cores', 'Lt', '4'), false],
    ['Gt of a label that is not there', term('room', 'Gt', '1'), false],
  ] as const)('%s', (_, asking, allowed) => {
    expect(allowsNode(asking, labelled)).toBe(allowed);
  });

  test('one of several terms is enough; one without requirements is none; fields count', () => {
    const terms = (...nodeSelectorTerms: { matchFields?: { key: string; operator: string; values: string[] }[] }[]) =>
      pod({ affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } });
    const byName = { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] };
    expect(allowsNode(terms({}), labelled)).toBe(false);
    expect(allowsNode(terms({}, byName), labelled)).toBe(true);
  });
});
