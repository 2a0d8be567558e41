import { expect, test } from 'vitest';
import type { ClusterNode } from '#conductor/cluster/kubernetes/client/objects.ts';
import { requireSameMachine } from '#conductor/cluster/kubernetes/same-machine.ts';

const cluster = { server: 'https://192.0.2.10:6443' };
const uuid = '00112233-4455-6677-8899-aabbccddeeff';
const node = (systemUUID: string | undefined, machineID = 'other'): ClusterNode => ({
  metadata: { name: 'n1', uid: 'u', resourceVersion: '1' },
  ...(systemUUID === undefined ? {} : { status: { nodeInfo: { systemUUID, machineID } } }),
});

test.each([
  ['itself', uuid, uuid],
  ['itself in capitals', uuid.toUpperCase(), uuid],
  ['itself with its first three fields the other way round', '33221100-5544-7766-8899-aabbccddeeff', uuid],
])('a machine is %s', (_what, reportedUuid, known) => {
  expect(requireSameMachine(cluster, node(reportedUuid), known)).toEqual([]);
});

test('another machine of that name is refused, and both are named', () => {
  const other = '99112233-4455-6677-8899-aabbccddeeff';
  const refusal = () => requireSameMachine(cluster, node(other), uuid);
  expect(refusal).toThrow(
    `at https://192.0.2.10:6443 is another machine: its system UUID is ${other}, the inventory's ${uuid}`,
  );
});

test.each([
  ['no inventory', node(uuid), undefined],
  ['a cluster that tells none', node(undefined), uuid],
  ['a board of which nobody has filled it in', node('ffffffff-ffff-ffff-ffff-ffffffffffff'), uuid],
  ['a template', node(uuid), '03000200-0400-0500-0006-000700080009'],
  [
    'a kubelet that tells the machine ID instead',
    node(uuid, uuid.replaceAll('-', '')),
    '99112233-4455-6677-8899-aabbccddeeff',
  ],
])('%s: nothing is known, which is told', (_what, reportedUuid, known) => {
  expect(requireSameMachine(cluster, reportedUuid, known)).toMatchObject([
    { message: expect.stringContaining('is not known from its system UUID') as unknown, error: false },
  ]);
});
