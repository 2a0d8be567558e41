import { expect, test } from 'vitest';
import type { WatchedNode } from '#conductor/cluster/kubernetes/node-watch.ts';
import { whyNotReady } from '#conductor/cluster/kubernetes/node-watch.ts';

const deployedAfter = Date.parse('2026-01-01T12:00:00Z');
const earlier = { uids: ['old'], bootIds: ['boot-1'], deployedAfter };
const nothing = { uids: [], bootIds: [], deployedAfter };

function node(
  more: { uid?: string; bootId?: string; created?: string; ready?: string; since?: string } = {},
): WatchedNode {
  const { uid = 'new', bootId, created = '2026-01-01T12:10:00Z', ready = 'True', since } = more;
  return {
    metadata: { name: 'n1', uid, resourceVersion: '1', creationTimestamp: created },
    status: {
      nodeInfo: { bootID: bootId },
      conditions: [{ type: 'Ready', status: ready, reason: 'Kubelet', message: 'says so', lastTransitionTime: since }],
    },
  };
}

test('in service is who has registered since, or has booted since, and is Ready', () => {
  expect(whyNotReady(node({ bootId: 'boot-2' }), earlier)).toBeUndefined();
  expect(whyNotReady(node({ uid: 'old', bootId: 'boot-2' }), earlier)).toBeUndefined();
  expect(whyNotReady(node(), earlier)).toBeUndefined();
});

test('who is not there, or not Ready, or reports the boot of before, is waited for', () => {
  expect(whyNotReady(undefined, earlier)).toBe('it has not joined yet');
  expect(whyNotReady(node({ bootId: 'boot-1' }), earlier)).toContain('the boot boot-1 of before the deploy');
  expect(whyNotReady(node({ uid: 'old' }), earlier)).toContain('the one of before the deploy');
  expect(whyNotReady(node({ bootId: 'boot-2', ready: 'False' }), earlier)).toBe(
    'it has joined, and is not Ready yet (Ready is False, Kubelet: says so)',
  );
});

test('where nothing is known from before, times tell', () => {
  expect(whyNotReady(node(), nothing)).toBeUndefined();
  const old = '2026-01-01T11:00:00Z';
  expect(whyNotReady(node({ created: old }), nothing)).toBe('its entry is older than the deploy');
  expect(whyNotReady(node({ created: old, since: '2026-01-01T12:10:00Z' }), nothing)).toBeUndefined();
});
