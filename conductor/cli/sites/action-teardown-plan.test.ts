import { expect, test } from 'vitest';
import type { TeardownNodeView } from '#conductor/api/teardown-plan.ts';
import { teardownPlanLines } from '#conductor/cli/sites/render-action.ts';
import { unknownInKubernetes } from '#conductor/sites/actions/teardown-plan/look-at-kubernetes.ts';

const disk = {
  name: '/dev/sda',
  serial: 'OS-1',
  wwn: null,
  model: 'FAST',
  size_bytes: 5e12,
  holds_os: true,
  kept: null,
};
const node: TeardownNodeView = {
  name: 'n1',
  provision_state: 'active',
  refused: 'it is protected: ledger',
  wrong: ['etcd cluster kubernetes: it has no quorum now'],
  kubernetes: {
    is_member: true,
    ready: true,
    cordoned: false,
    pods: 12,
    evicted: 9,
    kept_by_budgets: [{ pod: 'shop/web-1', budgets: [] }],
    lost: [
      { pod: 'default/bare', because: 'unmanaged' },
      { pod: 'shop/cache', because: 'local data' },
      { pod: 'default/job', because: 'unmanaged' },
    ],
  },
  etcd: [
    { cluster: 'kubernetes', members: ['n1'] },
    { cluster: 'calico', members: null },
  ],
  disks_seen_at: '2026-11-21T20:00:00.000Z',
  disks: {
    wiped: [disk],
    kept: [
      { ...disk, name: '/dev/sdb', serial: 'DATA-1', model: null, holds_os: false, kept: 'local storage is preserved' },
    ],
    remarks: [],
  },
  steps: [
    { step: 'cluster.drain', does: 'cordons n1', timeout: 60, on_failure: 'the action ends; nothing was destroyed' },
  ],
};

test('a plan is read node by node, with what is wrong before what will be done', () => {
  expect(
    teardownPlanLines({ name: 'redeploy_server', committed_rev_id: 3, remarks: ['no etcd'], nodes: [node] }),
  ).toEqual([
    'redeploy_server from revision 3; nothing has been started',
    '  no etcd',
    '',
    '1. n1 (active)',
    '   REFUSED: it is protected: ledger',
    '   now wrong: etcd cluster kubernetes: it has no quorum now',
    '   Kubernetes: ready, 12 pods, 9 of them evicted',
    '   kept by budgets now: shop/web-1',
    '   lost, because no controller creates them again: default/bare, default/job',
    '   lose their local data (emptyDir): shop/cache',
    '   etcd kubernetes: member n1',
    '   etcd calico: could not be asked',
    '   wiped, as seen 2026-11-21T20:00:00.000Z:',
    '     /dev/sda: serial OS-1, FAST, 5.0 TB (operating system)',
    '   kept:',
    '     /dev/sdb: serial DATA-1, 5.0 TB (local storage is preserved)',
  ]);
  expect(teardownPlanLines({ nodes: [{ ...node, refused: null }] }).slice(-2)).toEqual([
    '   cluster.drain (at most 60 s): cordons n1',
    '     if it fails: the action ends; nothing was destroyed',
  ]);
  expect(
    teardownPlanLines({
      nodes: [{ ...node, kubernetes: { ...unknownInKubernetes, is_member: false } }],
    }),
  ).toContain('   Kubernetes: has no such node');
});

test('of a conductor of the release before, which tells nothing of budgets and evictions, the rest is read', () => {
  const older = { is_member: true, ready: true, cordoned: true, pods: 12 } as TeardownNodeView['kubernetes'];
  const lines = teardownPlanLines({
    name: 'redeploy_server',
    committed_rev_id: 3,
    nodes: [{ ...node, kubernetes: older }],
  });
  expect(lines).toContain('   Kubernetes: ready, cordoned, 12 pods');
  expect(lines.join('\n')).not.toMatch(/undefined|budgets|lost|lose/);
});
