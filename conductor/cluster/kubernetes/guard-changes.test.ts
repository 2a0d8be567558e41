import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ClusterNode } from '#conductor/cluster/kubernetes/client/objects.ts';
import { drainNode } from '#conductor/cluster/kubernetes/drain-node.ts';
import { findLastReady, type Guard, guardChanges } from '#conductor/cluster/kubernetes/guard-changes.ts';
import { conditionOf } from '#test/simulators/kubernetes/resource.ts';
import { newNode, newSet } from '#test/simulators/kubernetes/scene.ts';
import { type OpenedCluster, openSmallCluster } from '#test/support/open-small-cluster.ts';

let small: OpenedCluster;
beforeEach(async () => {
  small = await openSmallCluster();
});
afterEach(() => small.close());

const { signal } = new AbortController();

/** The first look of a drain. */
async function drain(more: Partial<Guard> = {}): Promise<string> {
  const guard: Guard = { node: 'n1', force: false, evicts: true, deletes: false, isBegun: false, ...more };
  const announce = guardChanges(small.cluster, guard, signal, () => Promise.resolve());
  const { state } = await drainNode(small.cluster, 'n1', { gracePeriodSeconds: 1, announce }, signal);
  return state;
}

const isCordoned = (): unknown => small.node('n1')?.spec?.['unschedulable'];

test('the last Ready node, and that of a role, keeps its pods; with force, or once begun, it does not', async () => {
  const { store, world } = small.simulator;
  store.replace('nodes', {
    ...store.get('nodes', 'n1'),
    ...newNode('n1', { 'node-role.kubernetes.io/control-plane': '' }),
  });
  await expect(drain()).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('the last Ready node of its cluster with the role control-plane') as unknown,
  });
  world.stopKubelet('n2');
  await expect.poll(() => conditionOf(store.get('nodes', 'n2'), 'Ready')).toBe('Unknown');
  await expect(drain()).rejects.toThrow('it is the last Ready node of its cluster; force=true');
  expect(isCordoned()).toBeUndefined();
  expect(await drain({ isBegun: true })).toBe('done');
  expect(isCordoned()).toBe(true);
  expect(await drain({ force: true })).toBe('done');
});

test('rights that are missing are named before the cordon', async () => {
  const { access } = small.simulator;
  small.addPod({ name: 'bare', node: 'n1' });
  await small.settle();
  access.deny({ right: 'create pods/eviction', allowedIn: ['elsewhere'] });
  await expect(drain()).rejects.toMatchObject({
    code: 'forbidden',
    message: expect.stringContaining('may not create pods/eviction in namespace default') as unknown,
  });
  access.deny({ right: 'patch nodes' });
  await expect(drain()).rejects.toThrow('may not patch nodes, create pods/eviction in namespace default');
  expect(isCordoned()).toBeUndefined();
});

test('what a later step needs, and what is read after the cordon, is asked for before it', async () => {
  const { access } = small.simulator;
  access.deny({ right: 'delete nodes' });
  await expect(drain({ deletes: true })).rejects.toMatchObject({
    code: 'forbidden',
    message: expect.stringContaining('may not delete nodes; give its role that right') as unknown,
  });
  access.deny({ right: 'list pods' });
  access.deny({ right: 'create pods/eviction' });
  await expect(drain()).rejects.toThrow('may not list pods; give');
  expect(isCordoned()).toBeUndefined();
});

test('daemon sets may be read in the namespaces of their pods alone', async () => {
  const { store, access } = small.simulator;
  store.create('daemonsets', newSet('agents'));
  await expect.poll(() => small.podsOn('n1').length).toBe(1);
  await small.settle();
  access.deny({ right: 'get daemonsets.apps', allowedIn: ['default'] });
  expect(await drain()).toBe('done');
  store.replace('nodes', { ...store.get('nodes', 'n1'), spec: {} });
  access.deny({ right: 'get daemonsets.apps' });
  await expect(drain()).rejects.toThrow('may not get daemonsets.apps in namespace default');
  expect(isCordoned()).toBeUndefined();
});

test('a right in the namespaces of its pods is enough', async () => {
  small.addPod({ name: 'bare', node: 'n1' });
  await small.settle();
  small.simulator.access.deny({ right: 'create pods/eviction', allowedIn: ['default'] });
  expect(await drain()).toBe('waiting');
  await expect.poll(() => small.podsOn('n1')).toEqual([]);
});

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
