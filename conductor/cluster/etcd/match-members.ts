import { type ClusterMember, type EtcdCluster, nameOf } from '#conductor/cluster/etcd/etcd-cluster.ts';
import { literalAddress } from '#shared/peers/address-ranges.ts';

type Matched = Pick<ClusterMember, 'name' | 'peerUrls'>;
type Entry = EtcdCluster['members'][number];

export interface MemberMatch<Member> {
  readonly own: readonly Member[];
  /**
   * Members of which nothing, or no one thing, says where they run: any might be the node's. An entry that names the node
   * and matches no member excuses none of them: it may be mistyped.
   */
  readonly unclear: readonly Member[];
}

/**
 * Finds the members that run on each node: by the document's `members`, else by the member's name and the hosts in its peer URLs
 * (`n1`, `n1.example.org`), which must not name two. A name or an address that two members have identifies neither, and an
 * entry neither whose name and address are not those of one member, or whose node is none of the site's: it may be
 * mistyped. Pure.
 * @param nodes all of the site
 */
export function matchMembers<Member extends Matched>(
  members: readonly Member[],
  { members: entries }: Pick<EtcdCluster, 'members'>,
  node: string,
  nodes: ReadonlySet<string>,
): MemberMatch<Member> {
  const places = members.map((member) => ({ member, place: placeOf(member, { members, entries, nodes }) }));
  return {
    own: places.filter(({ place }) => place === node).map(({ member }) => member),
    unclear: places.filter(({ place }) => place === undefined).map(({ member }) => member),
  };
}

/**
 * Writes `nothing says on which node etcd-0 runs`, and why: names of several members, entries that are not those of one,
 * entries whose node is none of the site's, and entries that name the node and are no member's; for people. Pure.
 */
export function describeUnclear(
  { unclear, members, entries, nodes }: UnclearMembers,
  node: string,
  nameMember: (member: ClusterMember) => string = nameOf,
): string {
  const unmatched = findUnmatched(
    members,
    entries.filter((entry) => entry.node === node),
  );
  const torn = entries.filter((entry) => isAboutSome(entry, members) && !findMeant(entry, members));
  const astray = entries.filter(
    (entry) => !isNodeKnown(entry, nodes) && !torn.includes(entry) && unclear.some((each) => isAbout(entry, each)),
  );
  const remarks = [
    ...describeShared(unclear, members),
    ...torn.map(describeTorn),
    ...astray.map(describeAstray),
    ...(unmatched.length === 0 ? [] : [describeUnmatched(unmatched)]),
  ];
  const remark = remarks.length === 0 ? '' : ` (${remarks.join('; ')})`;
  return `nothing says on which node ${unclear.map(nameMember).join(', ')} runs${remark}`;
}

function describeTorn(entry: Entry): string {
  const marks = marksOf(entry);
  const are = marks.length === 1 ? 'is that of several members' : 'are not those of one member';
  return `${marks.join(' and ')} that members gives${placeIn(entry)} ${are}`;
}

function describeAstray(entry: Entry): string {
  return `${entry.node}, for which members gives ${marksOf(entry).join(' and ')}, is not a node of the site`;
}

function describeShared(unclear: readonly Matched[], members: readonly Matched[]): string[] {
  const names = new Set(unclear.map(({ name }) => name).filter(Boolean));
  return [...names].flatMap((name) => {
    const { length } = members.filter((member) => member.name === name);
    return length > 1 ? [`${length} members have the name ${name}`] : [];
  });
}

interface UnclearMembers {
  readonly unclear: readonly ClusterMember[];
  readonly members: readonly Matched[];
  readonly entries: readonly Entry[];
  /** All of the site. */
  readonly nodes: ReadonlySet<string>;
}

/** Entries of the document that are no member's: mistyped, or their member is gone or not there yet. Pure. */
export function findUnmatched(members: readonly Matched[], entries: readonly Entry[]): readonly Entry[] {
  return entries.filter((entry) => !isAboutSome(entry, members));
}

/** Writes `no member has the name etcd-a or the address 192.0.2.1 that members gives for n1`; for people. Pure. */
export function describeUnmatched(entries: readonly Entry[]): string {
  return entries
    .map((entry) => `no member has ${marksOf(entry).join(' or ')} that members gives${placeIn(entry)}`)
    .join('; ');
}

function marksOf({ name, address }: Entry): string[] {
  return [
    ...(name === undefined ? [] : [`the name ${name}`]),
    ...(address === undefined ? [] : [`the address ${address}`]),
  ];
}

function placeIn({ node }: Entry): string {
  return node === undefined ? '' : ` for ${node}`;
}

interface Known<Member> {
  readonly members: readonly Member[];
  readonly entries: readonly Entry[];
  readonly nodes: ReadonlySet<string>;
}

/** Returns a node's name; `null` = on none of the site's; `undefined` = nothing, or no one thing, says it. */
function placeOf<Member extends Matched>(member: Member, known: Known<Member>): string | null | undefined {
  const { members, entries, nodes } = known;
  const about = entries.flatMap((entry) => {
    if (!isAbout(entry, member)) return [];
    const meant = findMeant(entry, members);
    // another has all that the entry says
    if (meant && meant !== member) return [];
    return [meant && isNodeKnown(entry, nodes) ? (entry.node ?? null) : undefined];
  });
  if (about.length > 0) return theOnly(about);
  const own = nodesNamed(member, nodes);
  const others = members.filter((each) => each !== member).flatMap((each) => nodesNamed(each, nodes));
  return own.some((node) => others.includes(node)) ? undefined : theOnly(own);
}

function isNodeKnown({ node }: Entry, nodes: ReadonlySet<string>): boolean {
  return node === undefined || nodes.has(node);
}

function theOnly<Value>(values: readonly Value[]): Value | undefined {
  const [first, ...others] = new Set(values);
  return others.length === 0 ? first : undefined;
}

/** Lists nodes that have the member's name, or a host of its peer URLs. */
function nodesNamed(member: Matched, nodes: ReadonlySet<string>): string[] {
  const hosts = member.peerUrls.map(hostOf);
  const labels = hosts.flatMap((host) => (literalAddress(host) === undefined ? host.split('.').slice(0, 1) : []));
  // n1.example.org may be a node's whole name, and n1 another's
  const named = nodesAt(nodes, hosts);
  return [...(nodes.has(member.name) ? [member.name] : []), ...(named.length > 0 ? named : nodesAt(nodes, labels))];
}

/**
 * Finds the one member that has all that an entry says; else the one that has some of it, as long as nothing speaks against
 * it: a member that has not started may have any name.
 */
function findMeant<Member extends Matched>(entry: Entry, members: readonly Member[]): Member | undefined {
  const some = members.filter((member) => isAbout(entry, member));
  const whole = some.filter((member) => fitsOf(entry, member).every((fit) => fit === true));
  const [first, ...others] = whole.length > 0 ? whole : some;
  return first && others.length === 0 && !fitsOf(entry, first).includes(false) ? first : undefined;
}

function isAboutSome(entry: Entry, members: readonly Matched[]): boolean {
  return members.some((member) => isAbout(entry, member));
}

function isAbout(entry: Entry, member: Matched): boolean {
  return fitsOf(entry, member).includes(true);
}

/** Compares each of the entry's marks with the member's; `undefined` = the member has none yet. */
function fitsOf({ name, address }: Entry, member: Matched): readonly (boolean | undefined)[] {
  const hosts = member.peerUrls.map(hostOf);
  return [
    ...(name === undefined ? [] : [member.name === '' ? undefined : member.name === name]),
    ...(address === undefined
      ? []
      : [hosts.length === 0 ? undefined : hosts.includes(hostOf(`http://${bracketed(address)}`))]),
  ];
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
