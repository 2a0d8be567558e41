import { z } from 'zod';
import {
  expected,
  fieldFault,
  namesThereAre,
  readData,
  strictly,
  text,
} from '#conductor/sites/documents/schema-faults.ts';
import type { SiteDocument } from '#conductor/sites/documents/site-document.ts';
import type { SiteFault } from '#conductor/sites/site-fault.ts';

/**
 * `promenade/EtcdClusters/v1`: which etcd clusters run on the site's nodes, for whoever takes a node out of them
 * (seed 001; upstream never built it, so the form is ours).
 */

const endpoint = text.refine((url) => /^https?:\/\/[^/\s]+\/?$/.test(url) && URL.canParse(url), {
  error: 'must be http:// or https:// with host and port, such as https://192.0.2.1:2379',
});
const memberCount = 'a number of members, 1 or more';

const EtcdCluster = strictly({
  /** The identifier: `kubernetes`, `calico`. */
  name: text,
  endpoints: z.array(endpoint, expected('a list of URLs')).min(1, 'must have one URL at least'),
  /** Name of a stored credential; never the secret itself. */
  credential: text.exactOptional(),
  /** Below so many healthy members none is taken out. */
  minimum_members: z.int(expected(memberCount)).min(1, `must be ${memberCount}`),
  /** Which member runs on which node, where names and addresses don't tell. */
  members: z
    .array(strictly({ node: text, name: text }), expected('a list of nodes with names of members'))
    .exactOptional(),
});
type EtcdCluster = z.infer<typeof EtcdCluster>;

const EtcdClusters = strictly({ clusters: z.array(EtcdCluster, expected('a list of clusters')) });

/** @param known what isn't given isn't checked */
export function readEtcdClusters(
  documents: readonly SiteDocument[],
  known: { readonly credentials?: readonly string[] | undefined; readonly nodes?: ReadonlySet<string> | undefined },
  faults: SiteFault[],
): EtcdCluster[] {
  const clusters = new Map<string, EtcdCluster>();
  for (const document of documents) {
    const data = readData(document, EtcdClusters, faults);
    for (const [index, cluster] of data?.clusters.entries() ?? []) {
      const path = ['data', 'clusters', index];
      const tell = (field: readonly PropertyKey[], message: string, name: string): void => {
        faults.push(fieldFault(document, [...path, ...field], message, name));
      };
      if (clusters.has(cluster.name))
        tell(['name'], `${cluster.name} is another cluster's already`, 'DuplicateCluster');
      clusters.set(cluster.name, cluster);
      const repeated = cluster.endpoints.findIndex((url, place) => cluster.endpoints.indexOf(url) < place);
      if (repeated >= 0) tell(['endpoints', repeated], 'stands there twice', 'DuplicateEndpoint');
      const { credential } = cluster;
      if (credential !== undefined && known.credentials && !known.credentials.includes(credential)) {
        const message = `is no stored credential${namesThereAre(credential, known.credentials)}`;
        tell(['credential'], message, 'UnknownCredential');
      }
      for (const [place, { node }] of cluster.members?.entries() ?? []) {
        if (known.nodes && !known.nodes.has(node)) {
          tell(['members', place, 'node'], `${node} is no node${namesThereAre(node, [...known.nodes])}`, 'UnknownNode');
        }
      }
    }
  }
  return [...clusters.values()];
}
