import { expect, test } from 'vitest';
import { z } from 'zod';
import { MemberListAnswer, StatusAnswer } from '#conductor/cluster/etcd/etcd-client.ts';
import type { EtcdCluster } from '#conductor/cluster/etcd/etcd-cluster.ts';
import { isUnstarted } from '#conductor/cluster/etcd/look-at-cluster.ts';
import { matchMembers } from '#conductor/cluster/etcd/match-members.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';

const ids = z.array(z.string());

const Reading = z.strictObject({
  /** The site's. */
  nodes: z.array(z.string()),
  /** The document's `members`. */
  entries: z
    .array(
      z.strictObject({
        node: z.string().exactOptional(),
        name: z.string().exactOptional(),
        address: z.string().exactOptional(),
      }),
    )
    .default([]),
  /** Ids of the members of each node. */
  runs_on: z.record(z.string(), ids),
  /** Any of the nodes might have them. */
  unknown: ids,
  learners: ids.default([]),
  unstarted: ids.default([]),
  status: z
    .strictObject({
      member: z.string(),
      leader: z.string().optional(),
      is_learner: z.boolean(),
      raft_index: z.string(),
    })
    .optional(),
});

const recordings = await readRecordings('etcd', Reading);

test.each(recordings.map((each) => [each.name, each] as const))('%s', (_name, { outputs, reading }) => {
  const { members } = MemberListAnswer.parse(readList(outputs));
  const listed = members.map(({ ID, name, peerURLs }) => ({ ID, name, peerUrls: peerURLs }));
  const cluster: Pick<EtcdCluster, 'members'> = { members: reading.entries };
  const matches = reading.nodes.map(
    (node) => [node, matchMembers(listed, cluster, node, new Set(reading.nodes))] as const,
  );
  // etcdctl prints them as hexadecimal numbers, the gateway as decimal ones
  const base = outputs['etcdctl member list'] === undefined ? 10 : 16;
  const idsOf = (found: readonly { readonly ID: string }[]): string[] =>
    found.map(({ ID }) => BigInt(ID).toString(base));
  expect(Object.fromEntries(matches.map(([node, { own }]) => [node, idsOf(own)]))).toEqual(reading.runs_on);
  expect(matches.map(([, { unclear }]) => idsOf(unclear))).toEqual(reading.nodes.map(() => reading.unknown));
  expect(idsOf(members.filter(({ isLearner }) => isLearner))).toEqual(reading.learners);
  expect(idsOf(members.filter(isUnstarted))).toEqual(reading.unstarted);
  expect(readStatus(outputs['/v3/maintenance/status'])).toEqual(reading.status);
});

/** Reads a list as the gateway answers it; etcdctl prints the same as lines. */
function readList(outputs: Readonly<Record<string, string>>): unknown {
  const answer = outputs['/v3/cluster/member/list'];
  if (answer !== undefined) return JSON.parse(answer);
  const lines = (outputs['etcdctl member list'] ?? '').trim().split('\n');
  const listOf = (urls: string): string[] => (urls === '' ? [] : urls.split(','));
  const members = lines.map((line) => {
    const [, id = '', name = '', peers = '', clients = '', learner] =
      /^([0-9a-f]+), (?:un)?started, ([^ ,]*), (\S*?),(?: (\S*?))?(?:, (true|false))?$/.exec(line) ?? [];
    const isLearner = learner === 'true';
    return { ID: String(BigInt(`0x${id}`)), name, peerURLs: listOf(peers), clientURLs: listOf(clients), isLearner };
  });
  return { members };
}

function readStatus(answer: string | undefined): z.infer<typeof Reading>['status'] {
  if (answer === undefined) return undefined;
  const { header, leader, isLearner, raftIndex } = StatusAnswer.parse(JSON.parse(answer));
  return { member: header.member_id, leader, is_learner: isLearner, raft_index: raftIndex };
}
