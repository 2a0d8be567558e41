import { expect, test } from 'vitest';
import type { ClusterMember, EtcdCluster } from '#conductor/cluster/etcd/etcd-cluster.ts';
import {
  describeUnclear,
  describeUnmatched,
  findUnmatched,
  matchMembers,
} from '#conductor/cluster/etcd/match-members.ts';

const nodes = new Set(['n1', 'n2', 'n3']);
const member = (name: string, peer: string) => ({ name, peerUrls: [`https://${peer}:2380`] });

/** Names, or peer URLs of those without, of `n1`'s and of nobody's. */
function matched(members: readonly ReturnType<typeof member>[], entries: EtcdCluster['members'] = [], node = 'n1') {
  const { own, unclear } = matchMembers(members, { members: entries }, node, nodes);
  const text = (each: ReturnType<typeof member>): string => each.name || (each.peerUrls[0] ?? '');
  return { own: own.map(text), unclear: unclear.map(text) };
}

test('by name, by the host of the peer URL, by the first label of it', () => {
  expect(matched([member('n1', '10.0.0.1'), member('n2', '10.0.0.2')])).toEqual({ own: ['n1'], unclear: [] });
  expect(matched([member('a', 'n1'), member('b', 'N2.example.org')])).toEqual({ own: ['a'], unclear: [] });
  expect(matched([member('', 'n1.example.org'), member('n2', 'n2')])).toEqual({
    own: ['https://n1.example.org:2380'],
    unclear: [],
  });
});

test('one whose name is a node and whose peer URL is another is unclear, but where the document says it', () => {
  const swapped = member('n2', 'n1.example.org');
  expect(matched([swapped])).toEqual({ own: [], unclear: ['n2'] });
  expect(matched([swapped], [], 'n2')).toEqual({ own: [], unclear: ['n2'] });
  expect(matched([swapped], [{ node: 'n1', name: 'n2' }])).toEqual({ own: ['n2'], unclear: [] });
  const two = { name: 'etcd-0', peerUrls: ['https://n1:2380', 'https://n2:2380'] };
  expect(matched([two])).toEqual({ own: [], unclear: ['etcd-0'] });
});

test("the document's word goes before", () => {
  const members = [member('n1', '10.0.0.1'), member('n2', '10.0.0.2'), member('', '10.0.0.3'), member('x', 'fd00::1')];
  const swapped = [
    { node: 'n2', name: 'n1' },
    { node: 'n1', name: 'n2' },
  ];
  expect(matched(members.slice(0, 2), swapped).own).toEqual(['n2']);
  expect(matched(members, [{ node: 'n1', address: '10.0.0.3' }]).own).toEqual(['n1', 'https://10.0.0.3:2380']);
  expect(
    matched([{ name: 'x', peerUrls: ['https://[fd00::1]:2380'] }], [{ node: 'n1', address: 'fd00::1' }]).own,
  ).toEqual(['x']);
});

test('members of which nothing says where they run', () => {
  const strangers = [member('etcd-0', '10.0.0.1'), member('etcd-1', '10.0.0.2'), member('', '10.0.0.9')];
  expect(matched(strangers)).toEqual({ own: [], unclear: ['etcd-0', 'etcd-1', 'https://10.0.0.9:2380'] });
  const elsewhere = [{ name: 'etcd-0' }, { name: 'etcd-1' }, { address: '10.0.0.9' }];
  expect(matched(strangers, elsewhere)).toEqual({ own: [], unclear: [] });
  // it says two things
  const both = [
    { node: 'n2', name: 'etcd-0' },
    { node: 'n3', address: '10.0.0.1' },
    { name: 'etcd-1' },
    { address: '10.0.0.9' },
  ];
  expect(matched(strangers, both)).toEqual({ own: [], unclear: ['etcd-0'] });
});

test.each([
  ['a name', { node: 'n1', name: 'etcd-7' }],
  ['an address', { node: 'n1', address: '10.0.0.91' }],
])('an entry that names the node by %s that no member has excuses none of the others', (_what, entry) => {
  const members = [member('n2', '10.0.0.2'), member('', '10.0.0.9')];
  expect(matched(members, [entry])).toEqual({ own: [], unclear: ['https://10.0.0.9:2380'] });
  expect(findUnmatched(members, [entry, { node: 'n2', address: '10.0.0.2' }])).toEqual([entry]);
});

test('the host of a peer URL that two nodes may have, and one that is an address', () => {
  const names = (peer: string, all: readonly string[]) =>
    all.filter((node) => matchMembers([member('etcd-0', peer)], { members: [] }, node, new Set(all)).own.length > 0);
  expect(names('n1.example.org', ['n1', 'n1.example.org'])).toEqual(['n1.example.org']);
  expect(names('N1', ['n1', 'N1'])).toEqual([]);
  expect(names('10.0.0.1', ['10', 'n1'])).toEqual([]);
});

test('an entry that gives a node which is none of the site attributes its member to none', () => {
  const members = [member('n2', '10.0.0.2'), member('etcd-1', '10.0.0.1')];
  expect(matched(members, [{ node: 'n11', name: 'etcd-1' }])).toEqual({ own: [], unclear: ['etcd-1'] });
  expect(matched(members, [{ node: 'n11', address: '10.0.0.1' }], 'n3')).toEqual({ own: [], unclear: ['etcd-1'] });
  // … even where the member's name is a node's
  expect(matched(members, [{ node: 'n22', name: 'n2' }, { name: 'etcd-1' }], 'n2')).toEqual({
    own: [],
    unclear: ['n2'],
  });
  const unclear = [{ id: '1', ...member('etcd-1', '10.0.0.1') }] as unknown as ClusterMember[];
  const entries = [{ node: 'n11', name: 'etcd-1', address: '10.0.0.1' }];
  expect(describeUnclear({ unclear, members: unclear, entries, nodes }, 'n1')).toBe(
    'nothing says on which node etcd-1 runs ' +
      '(n11, for which members gives the name etcd-1 and the address 10.0.0.1, is not a node of the site)',
  );
});

test('it is said which entry of the node is no member', () => {
  const members = [{ id: '16', name: '', peerUrls: ['https://10.0.0.9:2380'] }] as unknown as ClusterMember[];
  const entries = [{ node: 'n1', name: 'etcd-1', address: '10.0.0.91' }, { node: 'n2', name: 'etcd-2' }, { name: 'x' }];
  expect(describeUnclear({ unclear: members, members, entries, nodes }, 'n1')).toBe(
    'nothing says on which node 10 at https://10.0.0.9:2380 runs ' +
      '(no member has the name etcd-1 or the address 10.0.0.91 that members gives for n1)',
  );
  expect(describeUnmatched(findUnmatched(members, entries.slice(2)))).toBe(
    'no member has the name x that members gives',
  );
});

test.each<[what: string, members: readonly ReturnType<typeof member>[], entries: EtcdCluster['members']]>([
  ['a name of two members', [member('n1', '10.0.0.1'), member('n1', '10.0.0.2')], []],
  ['a name of two members, whatever their hosts are', [member('n1', 'n1.a.org'), member('n1', 'n2.a.org')], []],
  ['a first label of two hosts', [member('a', 'n1.a.org'), member('b', 'n1.b.org')], []],
  ['a host of two members', [member('a', 'n1'), member('b', 'n1')], []],
  ["a node that is one's name and another's host", [member('n1', '10.0.0.1'), member('b', 'n1')], []],
  ['an entry that fits two', [member('x', '10.0.0.1'), member('x', '10.0.0.2')], [{ node: 'n1', name: 'x' }]],
  ['an address of two', [member('x', '10.0.0.1'), member('y', '10.0.0.1')], [{ node: 'n1', address: '10.0.0.1' }]],
  [
    "an entry with one's name and another's address",
    [member('x', '10.0.0.1'), member('y', '10.0.0.2')],
    [{ node: 'n2', name: 'x', address: '10.0.0.2' }],
  ],
  [
    "an entry with one's name and the address of one that has none",
    [member('x', '10.0.0.1'), member('', '10.0.0.2')],
    [{ node: 'n2', name: 'x', address: '10.0.0.2' }],
  ],
  [
    "an entry with one's name and an address that it does not have",
    [member('x', '10.0.0.1')],
    [{ node: 'n1', name: 'x', address: '10.0.0.9' }],
  ],
  [
    "an entry with one's address and a name that it does not have",
    [member('x', '10.0.0.1')],
    [{ node: 'n1', name: 'y', address: '10.0.0.1' }],
  ],
])('%s identifies none', (_what, members, entries) => {
  const { own, unclear } = matchMembers(members, { members: entries }, 'n1', nodes);
  expect({ own, unclear }).toEqual({ own: [], unclear: members });
});

test('name and address together tell two of one name apart', () => {
  const members = [member('x', '10.0.0.1'), member('x', '10.0.0.2')];
  const first = { node: 'n1', name: 'x', address: '10.0.0.1' };
  expect(matchMembers(members, { members: [first] }, 'n1', nodes)).toEqual({
    own: [members[0]],
    unclear: [members[1]],
  });
  const both = [first, { node: 'n2', name: 'x', address: '10.0.0.2' }];
  expect(matchMembers(members, { members: both }, 'n1', nodes)).toEqual({ own: [members[0]], unclear: [] });
  // it has not started
  const [unnamed, entry] = [member('', '10.0.0.1'), { node: 'n1', name: 'x', address: '10.0.0.1' }];
  expect(matchMembers([unnamed], { members: [entry] }, 'n1', nodes)).toEqual({ own: [unnamed], unclear: [] });
});

test('it is said why a name or an entry identifies none', () => {
  const members = [
    { id: '1', name: 'n3', peerUrls: ['https://10.0.0.3:2380'] },
    { id: '2', name: 'n3', peerUrls: ['https://10.0.0.4:2380'] },
    { id: '3', name: 'x', peerUrls: ['https://10.0.0.5:2380'] },
  ] as unknown as ClusterMember[];
  const said = (entries: EtcdCluster['members'], unclear = members) =>
    describeUnclear({ unclear, members, entries, nodes }, 'n4');
  expect(said([], members.slice(0, 2))).toBe('nothing says on which node n3, n3 runs (2 members have the name n3)');
  expect(said([{ node: 'n3', name: 'n3' }], members.slice(0, 2))).toBe(
    'nothing says on which node n3, n3 runs (2 members have the name n3; ' +
      'the name n3 that members gives for n3 is that of several members)',
  );
  expect(said([{ node: 'n4', name: 'x', address: '10.0.0.4' }], members.slice(1))).toBe(
    'nothing says on which node n3, x runs (2 members have the name n3; ' +
      'the name x and the address 10.0.0.4 that members gives for n4 are not those of one member)',
  );
});
