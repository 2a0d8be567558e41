import { expect, test } from 'vitest';
import type { InstanceAnswer } from '#conductor/model/flows/flow-states.ts';
import type { KnownDisk } from '#conductor/model/known-disk.ts';
import { toKnownDisk } from '#conductor/model/known-disk.ts';
import { describeSteps, describeWipe } from '#conductor/sites/actions/teardown-plan/describe-teardown.ts';
import { teardownOrder } from '#conductor/sites/nodes/testing/node-cases.ts';
import { type DiskIdentity, OsDisk } from '#shared/wire/erase-result.ts';
import { InventoryDocument } from '#shared/wire/inventory.ts';

const work = {
  node: 'n1',
  teardown: teardownOrder,
  etcdClusters: ['kubernetes'],
  revisionId: 7,
  isFree: false,
  isFake: false,
  serviceSeconds: { join: 1920, etcd: 600 },
  answers: [] as readonly InstanceAnswer[],
};
const names = (more: Partial<typeof work> = {}) => describeSteps({ ...work, ...more }).map(({ step }) => step);

test('what the instance has to answer comes last', () => {
  const answers: readonly InstanceAnswer[] = [
    { by: 'ping', target: 'n1' },
    { by: 'tcp', target: 'n1:22' },
  ];
  expect(describeSteps({ ...work, answers }).at(-1)).toMatchObject({
    step: 'cluster.wait_for_answers',
    does: 'waits until n1 answers: ping n1, tcp n1:22',
    timeout: 1920,
  });
});

test('the steps stand in the order in which they run, without those of clusters that there are not', () => {
  expect(names()).toEqual([
    'cluster.drain',
    'cluster.clear_labels',
    'cluster.remove_etcd',
    'cluster.wait_for_etcd',
    'cluster.shutdown_kubelet',
    'deleted',
    'wipe',
    'cluster.remove_node',
    'prepare',
    'deploy',
    'cluster.wait_until_ready',
    'cluster.wait_for_members',
  ]);
  const alone = { ...teardownOrder, kubernetes: false, etcd: false };
  expect(names({ teardown: alone })).toEqual(['deleted', 'wipe', 'prepare', 'deploy']);
  expect(names({ teardown: { ...alone, afterwards: 'keep' }, isFree: true })).toEqual(['wipe']);
  expect(names({ teardown: { ...alone, afterwards: 'remove' } })).toEqual(['deleted', 'wipe', 'remove']);
});

test('each step says what its failure leaves behind, and its own time limit', () => {
  const steps = describeSteps(work);
  for (const { on_failure: onFailure } of steps) expect(onFailure).toMatch(/^(the action ends; |is reported, )/);
  expect(steps[0]).toMatchObject({ timeout: 3600, does: expect.stringContaining('1800 s each') as unknown });
  expect(steps[0]?.on_failure).toContain('nothing was destroyed');
  expect(steps.find(({ step }) => step === 'wipe')?.on_failure).toContain('never available');
});

test('clusters are spoken of only where there are any', () => {
  const teardown = { ...teardownOrder, kubernetes: false, etcd: false };
  expect(JSON.stringify(describeSteps({ ...work, teardown, etcdClusters: [] }))).not.toContain('cluster');
});

test('what can not be wiped is told to be a rehearsal', () => {
  const wipe = describeSteps({ ...work, isFake: true }).find(({ step }) => step === 'wipe');
  expect(wipe?.does).toBe('simulated (deploy_interface fake): no disk is touched, no receipt');
});

const { disks } = InventoryDocument.parse({
  interfaces: [],
  disks: [
    { name: '/dev/sda', serial: 'OS-1', size: 100 },
    { name: '/dev/sdb', serial: 'DATA-1', size: 200 },
    { name: '/dev/sdc', serial: 'SKIPPED', size: 200 },
    { name: '/dev/md0', size: 100 },
  ],
});
const known: readonly KnownDisk[] = (disks ?? []).map(toKnownDisk);
const identity = { name: '/dev/sdz', serial: 'OS-1' } satisfies Partial<DiskIdentity>;
const osDisk = OsDisk.parse({ disks: [identity] });
const properties = { skip_block_devices: [{ serial: 'SKIPPED' }] };
const serials = (plan: ReturnType<typeof describeWipe>) => [
  plan.wiped.map(({ serial }) => serial),
  plan.kept.map(({ serial, kept }) => `${serial}: ${kept}`),
];

test('all disks are wiped but those of the skip list; or the OS disk alone, whatever it is called now', () => {
  expect(serials(describeWipe({ disks: known, osDisk, properties }, false))).toEqual([
    ['OS-1', 'DATA-1'],
    ['SKIPPED: it is on the skip list'],
  ]);
  expect(serials(describeWipe({ disks: known, osDisk, properties }, true))).toEqual([
    ['OS-1'],
    ['DATA-1: local storage is preserved', 'SKIPPED: it is on the skip list'],
  ]);
});

test('the members of a volume on the skip list are kept too', () => {
  const contents = [{ name: '/dev/md0', type: 'raid1', size: null, label: null }];
  const machine = InventoryDocument.parse({
    interfaces: [],
    disks: [
      { name: '/dev/sda', serial: 'MEMBER', size: 100, baton_contents: contents },
      { name: '/dev/sdb', serial: 'FREE', size: 100 },
      { name: '/dev/md0', size: 100, wwn: 'md-uuid' },
    ],
  });
  const wanted = {
    disks: (machine.disks ?? []).map(toKnownDisk),
    osDisk,
    properties: { skip_block_devices: [{ wwn: 'md-uuid' }] },
  };
  expect(serials(describeWipe(wanted, false))).toEqual([['FREE'], ['MEMBER: it is on the skip list']]);
});

test('a skip list of which it is not known whether it names a disk is a remark', () => {
  const unread = known.map((disk) => ({ ...disk, serial: null, unread: 'udevadm took longer than 30000 ms' }));
  expect(describeWipe({ disks: unread, osDisk, properties }, false).remarks).toContainEqual(
    expect.stringContaining('the wipe will be refused: whether properties.skip_block_devices[0]'),
  );
});

test('what is not known is said', () => {
  expect(describeWipe({ disks: undefined, osDisk: null, properties: {} }, true).remarks).toEqual([
    expect.stringContaining('is not recorded'),
    'the node was never inspected',
  ]);
  const gone = OsDisk.parse({ disks: [{ name: '/dev/sda', serial: 'GONE' }] });
  expect(describeWipe({ disks: known, osDisk: gone, properties: {} }, true).remarks).toEqual([
    'the last inventory does not have the OS disk /dev/sda (serial GONE)',
  ]);
  const wrong = { skip_block_devices: 'sda' };
  expect(describeWipe({ disks: known, osDisk, properties: wrong }, false).remarks).toEqual([
    expect.stringContaining('the wipe will be refused: properties.skip_block_devices'),
  ]);
});
