import { expect, test } from 'vitest';
import { findLastReady } from '#conductor/cluster/kubernetes/find-last-ready.ts';
import type { ClusterNode } from '#conductor/cluster/kubernetes/objects.ts';

function node(name: string, more: { role?: string; ready?: boolean; cordoned?: boolean } = {}): ClusterNode {
  const { role, ready = true, cordoned = false } = more;
  return {
    metadata: {
      name,
      uid: name,
      resourceVersion: '1',
      labels: role === undefined ? {} : { [`node-role.kubernetes.io/${role}`]: '' },
    },
    spec: { unschedulable: cordoned },
    status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  };
}
const find = (nodes: readonly ClusterNode[], names: readonly string[], staysOut = false) =>
  Object.fromEntries(findLastReady(nodes, { names, staysOut }));

test('the last that takes pods, and the last of a role, are found', () => {
  const last = 'it is the last Ready node of its cluster';
  expect(find([node('n1'), node('n2')], ['n1', 'n2'])).toEqual({});
  expect(find([node('n1'), node('n2', { ready: false })], ['n1', 'n2'])).toEqual({ n1: last });
  expect(find([node('n1'), node('n2', { cordoned: true })], ['n1'])).toEqual({ n1: last });
  const nodes = [node('n1', { role: 'control-plane' }), node('n2')];
  expect(find(nodes, ['n1', 'n2'])).toEqual({ n1: `${last} with the role control-plane` });
});

test('a peer of the same role that is cordoned takes no pods in its place', () => {
  const nodes = [node('n1', { role: 'db' }), node('n2', { role: 'db', cordoned: true }), node('n3')];
  const last = 'it is the last Ready node of its cluster with the role db';
  expect(find(nodes, ['n1', 'n2'])).toEqual({ n1: last });
});

test('of those that stay out the ones before count as gone', () => {
  const nodes = [node('n1'), node('n2')];
  expect(Object.keys(find(nodes, ['n1', 'n2'], true))).toEqual(['n2']);
});
