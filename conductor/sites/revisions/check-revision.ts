import { plugins } from '#conductor/kernel/db/schema/site.ts';
import type { SiteFault } from '#conductor/model/site-fault.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { listCredentials } from '#conductor/sites/credentials.ts';
import { type KnownToSite, readSite } from '#conductor/sites/documents/read-site.ts';
import { findPluginFaults } from '#conductor/sites/plugins/plugin-faults.ts';
import { describeLeftBehind } from '#conductor/sites/revisions/left-behind.ts';
import { readRevisionSite } from '#conductor/sites/revisions/read-revision-site.ts';
import { type DocumentReader, getRevision } from '#conductor/sites/revisions/revision-store.ts';
import type { Site } from '#conductor/sites/site.ts';
import type { SiteDocument } from '#conductor/sites/site-document.ts';

export interface CheckContext extends DocumentReader {
  readonly networks: Pick<SitesContext['networks'], 'networks'>;
  readonly drivers: { readonly hardwareTypes: readonly { readonly name: string }[] };
}

export interface CheckedRevision {
  /** Absent when a fault is an error. */
  readonly site?: Site;
  readonly faults: SiteFault[];
}

/**
 * A revision's documents as a site, measured by what this conductor knows now: its networks, drivers, plugins,
 * credentials.
 * @throws AppError `not_found` for an unknown revision.
 */
export async function checkRevision(context: CheckContext, id: number): Promise<CheckedRevision> {
  await getRevision(context.db, id);
  return withPluginFaults(context, await readRevisionSite(context, id, await readKnown(context)));
}

/** The same of documents that need not be stored. */
export async function checkDocuments(
  context: CheckContext,
  documents: readonly SiteDocument[],
): Promise<CheckedRevision> {
  return withPluginFaults(context, readSite(documents, await readKnown(context)));
}

async function withPluginFaults(
  context: CheckContext,
  { site, faults }: ReturnType<typeof readSite>,
): Promise<CheckedRevision> {
  // what their tasks require of each other, which no document says
  const leftBehind = site && (await describeLeftBehind(context.db, new Set(site.nodes.keys())));
  const warnings: SiteFault[] =
    leftBehind === undefined ? [] : [{ level: 'Warning', name: 'LeftBehind', message: leftBehind }];
  const unordered = site ? await findPluginFaults(context.db, site.plugins) : [];
  return { ...(site && unordered.length === 0 ? { site } : {}), faults: [...faults, ...warnings, ...unordered] };
}

async function readKnown({ db, networks: { networks }, drivers }: CheckContext): Promise<KnownToSite> {
  const credentials = await listCredentials(db);
  return {
    credentials: credentials.map(({ name }) => name),
    // without a networks file nobody can say
    ...(networks.defaults ? { networks: networks.networks.map(({ name }) => name) } : {}),
    drivers: drivers.hardwareTypes.map(({ name }) => name),
    plugins: await db
      .select({ name: plugins.name, version: plugins.version, content: plugins.contentHash })
      .from(plugins),
  };
}
