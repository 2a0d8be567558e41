import { type ClusterMember, type EtcdCluster, nameOf } from '#conductor/cluster/etcd/etcd-cluster.ts';
import { literalAddress } from '#shared/peers/address-ranges.ts';

type Matched = Pick<ClusterMember, 'name' | 'peerUrls'>;
type Entry = EtcdCluster['members'][number];

export interface MemberMatch<Member> {
  readonly own: readonly Member[];
  /**
   * Members of which nothing says where they run: any might be the node's. An entry that names the node and matches no
   * member excuses none of them: it may be mistyped.
   */
  readonly unclear: readonly Member[];
}

/**
 * Finds the members that run on each node: by the document's `members`, else by the member's name and the hosts in its peer URLs
 * (`n1`, `n1.example.org`), which must not name two. Pure.
 * @param nodes all of the site
 */
export function matchMembers<Member extends Matched>(
  members: readonly Member[],
  { members: entries }: Pick<EtcdCluster, 'members'>,
  node: string,
  nodes: ReadonlySet<string>,
): MemberMatch<Member> {
  const places = members.map((member) => ({ member, place: placeOf(member, entries, nodes) }));
  return {
    own: places.filter(({ place }) => place === node).map(({ member }) => member),
    unclear: places.filter(({ place }) => place === undefined).map(({ member }) => member),
  };
}

/**
 * Writes `nothing says on which node etcd-0 runs`, and which entries that name the node are no member's; for people. Pure.
 */
export function describeUnclear(
  { unclear, members, entries }: UnclearMembers,
  node: string,
  nameMember: (member: ClusterMember) => string = nameOf,
): string {
  const unmatched = findUnmatched(
    members,
    entries.filter((entry) => entry.node === node),
  );
  const remark = unmatched.length === 0 ? '' : ` (${describeUnmatched(unmatched)})`;
  return `nothing says on which node ${unclear.map(nameMember).join(', ')} runs${remark}`;
}

interface UnclearMembers {
  readonly unclear: readonly ClusterMember[];
  readonly members: readonly Matched[];
  readonly entries: readonly Entry[];
}

/** Entries of the document that are no member's: mistyped, or their member is gone or not there yet. Pure. */
export function findUnmatched(members: readonly Matched[], entries: readonly Entry[]): readonly Entry[] {
  return entries.filter((entry) => !members.some((member) => isMeant(entry, member)));
}

/** Writes `no member has the name etcd-a or the address 192.0.2.1 that members gives for n1`; for people. Pure. */
export function describeUnmatched(entries: readonly Entry[]): string {
  return entries
    .map(({ node, name, address }) => {
      const marks = [
        ...(name === undefined ? [] : [`the name ${name}`]),
        ...(address === undefined ? [] : [`the address ${address}`]),
      ];
      return `no member has ${marks.join(' or ')} that members gives${node === undefined ? '' : ` for ${node}`}`;
    })
    .join('; ');
}

/** Returns a node's name; `null` = on none of the site's; `undefined` = nothing, or no one thing, says it. */
function placeOf(member: Matched, entries: readonly Entry[], nodes: ReadonlySet<string>): string | null | undefined {
  const [first, ...others] = entries.filter((entry) => isMeant(entry, member));
  if (first) return others.every((entry) => entry.node === first.node) ? (first.node ?? null) : undefined;
  const hosts = member.peerUrls.map(hostOf);
  const labels = hosts.flatMap((host) => (literalAddress(host) === undefined ? host.split('.').slice(0, 1) : []));
  // n1.example.org may be a node's whole name, and n1 another's
  const named = nodesAt(nodes, hosts);
  const places = new Set([
    ...(nodes.has(member.name) ? [member.name] : []),
    ...(named.length > 0 ? named : nodesAt(nodes, labels)),
  ]);
  return places.size === 1 ? [...places][0] : undefined;
}

function isMeant({ name, address }: Entry, member: Matched): boolean {
  if (name !== undefined && name === member.name) return true;
  return address !== undefined && member.peerUrls.map(hostOf).includes(hostOf(`http://${bracketed(address)}`));
}

function nodesAt(nodes: ReadonlySet<string>, hosts: readonly string[]): readonly string[] {
  return [...nodes].filter((node) => hosts.includes(node.toLowerCase()));
}

function hostOf(url: string): string {
  return URL.parse(url)?.hostname ?? url;
}

function bracketed(address: string): string {
  return address.includes(':') && !address.startsWith('[') ? `[${address}]` : address;
}
