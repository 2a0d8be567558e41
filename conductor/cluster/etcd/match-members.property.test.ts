import { expect, test } from 'vitest';
import type { EtcdCluster } from '#conductor/cluster/etcd/etcd-cluster.ts';
import { findUnmatched, matchMembers } from '#conductor/cluster/etcd/match-members.ts';
import * as fc from '#test/fuzz/fast-check.ts';

type Entry = EtcdCluster['members'][number];

interface Member {
  readonly name: string;
  readonly peerUrls: readonly string[];
  /** Its node, which nothing that is matched says. */
  readonly truth: string;
}

const nodes = ['n1', 'n2', 'n3', 'n4', 'n5'] as const;
const names = ['own', 'own', 'letter', 'letter', 'none', 'another node', "another's letter"] as const;
const peers = ['address', 'address', 'host', 'whole host'] as const;
const marks = ['none', 'name', 'address', 'both', 'mistyped', "another's address", "another's name"] as const;

const letterOf = (node: string): string => `etcd-${node}`;
const addressOf = (node: string): string => `10.0.0.${node.slice(1)}`;

const anyMember = fc.record({
  truth: fc.constantFrom(...nodes),
  name: fc.constantFrom(...names),
  peer: fc.constantFrom(...peers),
  mark: fc.constantFrom(...marks),
  other: fc.constantFrom(...nodes),
});

/** A list in which each node has one member at most, and names that lie are those of two members. */
const anyList = fc.uniqueArray(anyMember, { selector: ({ truth }) => truth, minLength: 1 }).map((drawn) => {
  const members = drawn.map(({ truth, name, peer, other }): Member => {
    const chosen = {
      own: truth,
      letter: letterOf(truth),
      none: '',
      'another node': other,
      "another's letter": letterOf(other),
    }[name];
    const host = { address: addressOf(truth), host: truth, 'whole host': `${truth}.example.org` }[peer];
    return { name: chosen, peerUrls: [`https://${host}:2380`], truth };
  });
  const entries = drawn.flatMap(({ truth, mark, other }, index): Entry[] => {
    const { name = '', peerUrls } = members[index] ?? {};
    const address = URL.parse(peerUrls?.[0] ?? '')?.hostname ?? '';
    const named = name === '' ? {} : { name };
    switch (mark) {
      case 'none':
        return [];
      case 'name':
        return name === '' ? [] : [{ node: truth, name }];
      case 'address':
        return [{ node: truth, address }];
      case 'both':
        return [{ node: truth, ...named, address }];
      case 'mistyped':
        return [{ node: truth, name: 'etcd-typo', address: '10.0.0.91' }];
      case "another's address":
        return name === '' ? [] : [{ node: truth, name, address: addressOf(other) }];
      case "another's name":
        return [{ node: truth, name: letterOf(other), address }];
      default:
        return mark satisfies never;
    }
  });
  return { members, entries };
});

/** A name that one member alone has, and an entry that fits one alone, are all that there is to know: neither may lie. */
function isHonest({ members, entries }: { readonly members: readonly Member[]; readonly entries: readonly Entry[] }) {
  const isLie = ({ name, truth }: Member): boolean =>
    nodes.some((node) => node === name && node !== truth) && members.filter((each) => each.name === name).length === 1;
  const misleads = ({ node, name, address }: Entry): boolean => {
    const whole = members.filter(
      (each) =>
        (name === undefined || each.name === name) &&
        (address === undefined || each.peerUrls[0] === `https://${address}:2380`),
    );
    return whole.length === 1 && whole.some(({ truth }) => truth !== node);
  };
  return !members.some(isLie) && !entries.some(misleads);
}

test("no drawn list excuses a node's member, and none gives it another's", () => {
  let shared = 0;
  fc.assert(
    fc.property(anyList.filter(isHonest), fc.constantFrom(...nodes), ({ members, entries }, node) => {
      const { own, unclear } = matchMembers(members, { members: entries }, node, new Set(nodes));
      if (new Set(members.map(({ name }) => name)).size < members.length) shared += 1;
      expect(own.filter(({ truth }) => truth !== node)).toEqual([]);
      const excused = members.filter(({ truth }) => truth === node).filter((member) => !own.includes(member));
      expect(unclear.length === 0 ? excused : []).toEqual([]);
      expect(findUnmatched(members, entries).every(({ name }) => name === 'etcd-typo')).toBe(true);
    }),
    { numRuns: 20_000 },
  );
  expect(shared).toBeGreaterThan(2_000);
});
