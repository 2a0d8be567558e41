import type { EtcdCluster } from '#conductor/cluster/etcd/etcd-cluster.ts';
import {
  describeNoRevision,
  parseRole,
  type RevisionRole,
  revisionRoles,
} from '#conductor/model/site/revision-roles.ts';
import { errorsIn, type SiteFault } from '#conductor/model/site/site-report.ts';
import { readApart } from '#conductor/sites/apart/read-apart.ts';
import { readEtcdClusters } from '#conductor/sites/documents/etcd-clusters.ts';
import { newSuggestNames } from '#conductor/sites/documents/schema-faults.ts';
import { type CheckContext, checkRevision, readRevisionSite } from '#conductor/sites/revisions/check-revision.ts';
import {
  type DocumentReader,
  findRevisionByRole,
  openRevisionDocuments,
} from '#conductor/sites/revisions/revision-store.ts';
import type { Site } from '#conductor/sites/site.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * The site that a design reference means: see `parseDesignReference` for its forms.
 * @param field what the message begins with
 * @param origins of this service, as its clients write it
 * @throws AppError `invalid_argument` for what is not a revision, or for one that is not a site; `not_found`
 */
export async function findDesign(
  context: CheckContext,
  reference: string | number,
  field: string,
  origins: readonly string[],
): Promise<{ readonly site: Site; readonly revision: number }> {
  const wanted = parseDesignReference(reference, field, origins);
  const revision = 'revision' in wanted ? wanted.revision : (await findRevisionByRole(context.db, wanted.role))?.id;
  if (revision === undefined) {
    const named = 'role' in wanted ? wanted.role : String(reference);
    throw new AppError('not_found', `${field}: ${describeNoRevision(named)}`);
  }
  const { site, faults } = await checkRevision(context, revision);
  if (site) return { site, revision };
  const errors = errorsIn(faults).length;
  throw new AppError(
    'invalid_argument',
    `${field}: the documents of revision ${revision} are not a site: ${errors === 1 ? '1 fault' : `${errors} faults`}`,
    {
      details: { faults, reason: 'InvalidDesign' },
    },
  );
}

/** Which revision of a site's documents is meant. */
type DesignReference = { readonly revision: number } | { readonly role: RevisionRole };

const largestId = 2 ** 31 - 1;

/**
 * A revision's number, its role (`committed`), or Deckhand's address of its documents, as Drydock's API takes it:
 * `deckhand+http://baton.example:6385/api/v1.0/revisions/7/rendered-documents`. Another host's revision 7 is another one. Pure.
 * @param field for the message
 * @param origins of this service, as its clients write it
 * @throws AppError `invalid_argument`
 */
export function parseDesignReference(
  reference: string | number,
  field: string,
  origins: readonly string[],
): DesignReference {
  const text = String(reference).trim();
  const role = parseRole(text);
  if (role !== undefined) return { role };
  const address = /^deckhand\+(https?:.*\/revisions\/(\d+)\/rendered-documents\/?)$/.exec(text);
  const revision = Number(/^\d+$/.exec(text)?.[0] ?? address?.[2] ?? Number.NaN);
  if (revision >= 1 && revision <= largestId) {
    if (address?.[1] !== undefined) requireOwnHost(address[1], field, origins);
    return { revision };
  }
  throw new AppError(
    'invalid_argument',
    `${field}: ${JSON.stringify(reference)} is not a revision of a site; it must be a number, one of ${revisionRoles.join(', ')}, or deckhand+http://…/revisions/NUMBER/rendered-documents`,
  );
}

function requireOwnHost(address: string, field: string, origins: readonly string[]): void {
  const host = URL.parse(address)?.host;
  const own = [...new Set(origins.map((origin) => new URL(origin).host))];
  if (host !== undefined && own.includes(host)) return;
  throw new AppError(
    'invalid_argument',
    `${field}: ${JSON.stringify(host ?? address)} is another host than this one (${own.join(', ')}), whose revisions are not its; ` +
      "upload the documents here, and write their revision's number",
  );
}

/** The etcd clusters that nodes are taken out of. */
export interface EtcdSite {
  readonly etcdClusters: readonly EtcdCluster[];
  /** By whose names members are told apart. */
  readonly nodes: ReadonlySet<string>;
  /** Clusters that only one of the two revisions has. */
  readonly remarks: readonly string[];
}

/**
 * The etcd clusters of the committed revision, whatever revision an action works from: they are the newest truth, and a
 * cluster that is overlooked loses a member with its disk. Those that only the action's own revision has are left too.
 * @throws AppError `invalid_argument` when the committed revision's clusters can't be read
 */
export async function readEtcdSite(
  reader: DocumentReader,
  { revisionId, site }: { readonly revisionId: number; readonly site: Pick<Site, 'nodes' | 'etcdClusters'> },
): Promise<EtcdSite> {
  const own = { etcdClusters: site.etcdClusters, nodes: new Set(site.nodes.keys()), remarks: [] };
  const committed = await findRevisionByRole(reader.db, 'committed');
  if (!committed || committed.id === revisionId) return own;
  const newest = await readCommitted(reader, committed.id);
  const has = (those: readonly EtcdCluster[], name: string): boolean => those.some((each) => each.name === name);
  const older = own.etcdClusters.filter(({ name }) => !has(newest.etcdClusters, name));
  const newer = newest.etcdClusters.filter(({ name }) => !has(own.etcdClusters, name));
  return {
    etcdClusters: [...newest.etcdClusters, ...older],
    nodes: new Set([...own.nodes, ...newest.nodes]),
    remarks: [
      ...newer.map(
        ({ name }) =>
          `etcd cluster ${name} is not in revision ${revisionId}, but in ${committed.id}, which is committed: nodes leave it`,
      ),
      ...older.map(
        ({ name }) =>
          `etcd cluster ${name} is in revision ${revisionId}, and no more in ${committed.id}, which is committed: nodes leave it too`,
      ),
    ],
  };
}

async function readCommitted(reader: DocumentReader, id: number): Promise<Omit<EtcdSite, 'remarks'>> {
  const { site } = await readRevisionSite(reader, id, {});
  if (site) return { etcdClusters: site.etcdClusters, nodes: new Set(site.nodes.keys()) };
  // committed by force: what is wrong elsewhere does not concern etcd
  const rendered = await readApart('renderLayers', await openRevisionDocuments(reader, id));
  const of = (wanted: string) => rendered.documents.filter(({ schema }) => schema === wanted);
  // a cluster that can't be rendered must not be overlooked, nor a node
  const concerned = /^promenade\/EtcdClusters\/v1$|^drydock\/BaremetalNode\/v1$/;
  const faults: SiteFault[] = rendered.faults.filter(({ document }) => concerned.test(document?.schema ?? ''));
  const etcdClusters = readEtcdClusters(of('promenade/EtcdClusters/v1'), {}, newSuggestNames(), faults);
  const errors = errorsIn(faults);
  if (errors.length > 0) {
    throw new AppError(
      'invalid_argument',
      `the nodes' etcd clusters are not known: revision ${id}, which is committed, has faults: ${errors.join('; ')}`,
    );
  }
  return { etcdClusters, nodes: new Set(of('drydock/BaremetalNode/v1').map(({ name }) => name)) };
}
