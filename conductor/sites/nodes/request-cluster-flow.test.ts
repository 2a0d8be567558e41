import { expect, test } from 'vitest';
import { defaultSettings } from '#conductor/sites/documents/configuration-document.ts';
import { needsService, serviceNeeds } from '#conductor/sites/nodes/request-cluster-flow.ts';

const site = { settings: defaultSettings };
const row = { driver: 'redfish', deployInterface: null };
const membership = { registrations: [{ uid: 'u', at: '2026-01-01T00:00:00Z' }], etcdClusters: ['control'] };
const nothing = { kubernetes: false, etcd: [], answers: [] };

test('who was a member is one again, in clusters that its own revision does not have, too', () => {
  const known = { row, membership, hasKubernetes: true };
  expect(serviceNeeds({}, site, known)).toEqual({ kubernetes: true, etcd: ['control'], answers: [] });
  expect(serviceNeeds({}, site, { ...known, hasKubernetes: false })).toMatchObject({ kubernetes: false });
  const apart = { inService: { kubernetes: false, answers: [] } };
  expect(serviceNeeds(apart, site, known)).toMatchObject({ kubernetes: false });
});

test('who was none joins when its document or the configuration says so', () => {
  const known = { row, membership: undefined, hasKubernetes: true };
  expect(serviceNeeds({}, site, known)).toEqual(nothing);
  const joining = { settings: { ...defaultSettings, nodesJoin: true } };
  expect(serviceNeeds({}, joining, known)).toMatchObject({ kubernetes: true });
  expect(serviceNeeds({ inService: { kubernetes: true, answers: [] } }, site, known)).toMatchObject({
    kubernetes: true,
  });
});

test('a pretended deploy needs nothing, and an instance without a cluster its answers', () => {
  const fake = { row: { driver: 'redfish', deployInterface: 'fake' }, membership, hasKubernetes: true };
  expect(needsService(serviceNeeds({}, site, fake))).toBe(false);
  const answers = [{ by: 'tcp', target: 'n1:22' }] as const;
  const known = { row, membership: undefined, hasKubernetes: false };
  expect(serviceNeeds({ inService: { answers } }, site, known)).toEqual({ ...nothing, answers });
});
