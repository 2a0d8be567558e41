import type { ClusterMember, EtcdCluster } from '#conductor/cluster/etcd/etcd-cluster.ts';

type Matched = Pick<ClusterMember, 'name' | 'peerUrls'>;

export interface MemberMatch<Member> {
  readonly own: readonly Member[];
  /** Those of which nothing says where they run: any might be the node's. */
  readonly unclear: readonly Member[];
}

/**
 * Which members run on a node: by the document's `members`, else by the member's name, else by the host in its peer URL
 * (`n1`, `n1.example.org`). Pure.
 * @param nodes all of the site
 */
export function matchMembers<Member extends Matched>(
  members: readonly Member[],
  { members: entries }: Pick<EtcdCluster, 'members'>,
  node: string,
  nodes: ReadonlySet<string>,
): MemberMatch<Member> {
  const places = members.map((member) => ({ member, place: placeOf(member, entries, nodes) }));
  // where the document says which member is the node's, it need not say whose the others are
  const isReported = entries.some((entry) => entry.node === node);
  return {
    own: places.filter(({ place }) => place === node).map(({ member }) => member),
    unclear: isReported ? [] : places.filter(({ place }) => place === undefined).map(({ member }) => member),
  };
}

/** A node's name; `null` = on none of the site's; `undefined` = nothing, or no one thing, says it. */
function placeOf(
  { name, peerUrls }: Matched,
  entries: EtcdCluster['members'],
  nodes: ReadonlySet<string>,
): string | null | undefined {
  const hosts = peerUrls.map(hostOf);
  const reported = entries.filter(
    (entry) =>
      (entry.name !== undefined && entry.name === name) ||
      (entry.address !== undefined && hosts.includes(hostOf(`http://${bracketed(entry.address)}`))),
  );
  const [first] = reported;
  if (first) return reported.every((entry) => entry.node === first.node) ? (first.node ?? null) : undefined;
  if (nodes.has(name)) return name;
  const named = hosts.flatMap((host) => [host, host.split('.')[0] ?? host]);
  return [...nodes].find((node) => named.includes(node.toLowerCase()));
}

function hostOf(url: string): string {
  return URL.parse(url)?.hostname ?? url;
}

function bracketed(address: string): string {
  return address.includes(':') && !address.startsWith('[') ? `[${address}]` : address;
}
