import { z } from 'zod';
import type { EtcdCluster } from '#conductor/cluster/etcd/etcd-cluster.ts';
import { expectedMessage } from '#conductor/model/expected.ts';
import type { SiteFault } from '#conductor/model/site/site-report.ts';
import {
  fieldFault,
  readData,
  type SuggestNames,
  shownText,
  strictObject,
} from '#conductor/sites/documents/schema-faults.ts';
import type { SiteDocument } from '#conductor/sites/site.ts';
import { isHost } from '#shared/peers/is-host.ts';

/**
 * `promenade/EtcdClusters/v1`: which etcd clusters run on the site's nodes, for anyone who takes a node out of them
 * (seed 001; upstream never built it, so the form is ours).
 */

const endpoint = shownText.refine((url) => /^https?:\/\/[^/\s]+\/?$/.test(url) && URL.canParse(url), {
  error: 'must be http:// or https:// with host and port, such as https://192.0.2.1:2379',
});
/** One that could never be in a peer URL's place of the host would match nothing. */
const memberAddress = shownText.refine((address) => isHost(address.replace(/^\[(.*)\]$/, '$1')), {
  error: "must be the host in the member's peer URL: an IP address or a host name, without scheme and port",
});
const memberCount = 'a number of members, 1 or more';

const ClusterData = strictObject({
  /** The identifier: `kubernetes`, `calico`. */
  name: shownText,
  endpoints: z.array(endpoint, expectedMessage('a list of URLs')).min(1, 'must have one URL at least'),
  /** Name of a directory of files; never what stands in them. */
  tls: shownText
    .regex(/^\w[\w.-]*$/, 'must be the name of a directory below BATON_ETCD_TLS_DIR, of letters, digits, _ . and -')
    .exactOptional(),
  /** Name of a stored credential; never the secret itself. */
  credential: shownText.exactOptional(),
  /** Below so many healthy members none is taken out. */
  minimum_members: z.int(expectedMessage(memberCount)).min(1, `must be ${memberCount}`),
  /** Which member runs on which node, where names don't show it. */
  members: z
    .array(
      strictObject({
        node: shownText.exactOptional(),
        name: shownText.exactOptional(),
        address: memberAddress.exactOptional(),
      }),
      expectedMessage('a list of members with their nodes'),
    )
    .exactOptional(),
});
type ClusterData = z.infer<typeof ClusterData>;

const EtcdClusters = strictObject({ clusters: z.array(ClusterData, expectedMessage('a list of clusters')) });

/** Names that the documents may refer to. Those that aren't given aren't checked. */
interface KnownToEtcd {
  readonly credentials?: ReadonlySet<string> | undefined;
  readonly nodes?: ReadonlySet<string> | undefined;
}

type Known = KnownToEtcd & { readonly suggest: SuggestNames };
type Report = (field: readonly PropertyKey[], message: string, name: string) => void;

export function readEtcdClusters(
  documents: readonly SiteDocument[],
  known: KnownToEtcd,
  suggest: SuggestNames,
  faults: SiteFault[],
): EtcdCluster[] {
  const clusters = new Map<string, EtcdCluster>();
  for (const document of documents) {
    const data = readData(document, EtcdClusters, faults);
    for (const [index, cluster] of data?.clusters.entries() ?? []) {
      const report: Report = (field, message, name) => {
        faults.push(fieldFault(document, ['data', 'clusters', index, ...field], message, name));
      };
      if (clusters.has(cluster.name))
        report(['name'], `${cluster.name} is another cluster's already`, 'DuplicateCluster');
      clusters.set(cluster.name, clusterOf(cluster));
      checkAccess(cluster, { ...known, suggest }, report);
      checkMembers(cluster, { ...known, suggest }, report);
    }
  }
  return [...clusters.values()];
}

function clusterOf({ endpoints, minimum_members: minimumMembers, members = [], ...same }: ClusterData): EtcdCluster {
  return { ...same, endpoints: endpoints.map((url) => url.replace(/\/$/, '')), minimumMembers, members };
}

function checkAccess({ endpoints, credential, tls }: ClusterData, known: Known, report: Report): void {
  const repeated = repeatedPlace(endpoints);
  if (repeated >= 0) report(['endpoints', repeated], 'is given twice', 'DuplicateEndpoint');
  const open = endpoints.findIndex((url) => url.startsWith('http:'));
  if (tls !== undefined && open >= 0)
    report(['endpoints', open], 'must be https://, since the cluster has tls', 'PlainEndpoint');
  if (credential !== undefined && known.credentials && !known.credentials.has(credential)) {
    const message = `is not a stored credential${known.suggest(credential, known.credentials)}`;
    report(['credential'], message, 'UnknownCredential');
  }
}

function checkMembers({ members = [] }: ClusterData, known: Known, report: Report): void {
  const seen = { names: new Set<string>(), addresses: new Set<string>() };
  for (const [place, { node, name, address }] of members.entries()) {
    if (node !== undefined && known.nodes && !known.nodes.has(node)) {
      report(['members', place, 'node'], `${node} is not a node${known.suggest(node, known.nodes)}`, 'UnknownNode');
    }
    if (name === undefined && address === undefined)
      report(['members', place], "must have the member's name, or the address in its peer URL", 'NamelessMember');
    const isSeen =
      (name !== undefined && seen.names.has(name)) || (address !== undefined && seen.addresses.has(address));
    if (name !== undefined) seen.names.add(name);
    if (address !== undefined) seen.addresses.add(address);
    if (isSeen) report(['members', place], 'names a member that stands there already', 'DuplicateMember');
  }
}

/** Finds the second place of the first value that is given twice; -1 = none is. */
function repeatedPlace(values: readonly string[]): number {
  const seen = new Set<string>();
  return values.findIndex((value) => seen.size === seen.add(value).size);
}
