import { and, asc, eq } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { plugins, siteNodes } from '#conductor/kernel/db/schema/site.ts';
import { newRemark, remarkError } from '#conductor/model/remarks/remark-words.ts';
import { describeNoRevision, parseRole } from '#conductor/model/site/revision-roles.ts';
import { errorsIn, type SiteFault } from '#conductor/model/site/site-report.ts';
import { readApart } from '#conductor/sites/apart/read-apart.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { listCredentials } from '#conductor/sites/credentials.ts';
import type { KnownToSite, ReadSite } from '#conductor/sites/documents/read-site.ts';
import { findPluginFaults } from '#conductor/sites/plugins/plugin-steps.ts';
import { listPlugins, loadPluginTasks, type PluginKey } from '#conductor/sites/plugins/plugin-store.ts';
import type { PluginTasks } from '#conductor/sites/plugins/plugin-task.ts';
import {
  type DocumentReader,
  getRevision,
  openRevisionDocuments,
  readContent,
  readRoles,
} from '#conductor/sites/revisions/revision-store.ts';
import type { Site, SiteDocument } from '#conductor/sites/site.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { nameSome } from '#shared/words.ts';

export interface CheckContext extends DocumentReader {
  readonly networks: Pick<SitesContext['networks'], 'networks'>;
  readonly drivers: { readonly hardwareTypes: readonly { readonly name: string }[] };
}

interface CheckedRevision {
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
  return withPluginFaults(context, await readApart('readSite', documents, await readKnown(context)));
}

async function withPluginFaults(context: CheckContext, { site, faults }: ReadSite): Promise<CheckedRevision> {
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

/** So many are kept: what is committed, what an action works from, and what is in the buffer. */
const most = 3;

/** Results for each database; the key says all that the result depends on, so that nothing here can be out of date. */
const kept = new WeakMap<Queryable, Map<string, Promise<ReadSite>>>();

/**
 * A revision's documents as a site. Thousands of documents take parts of a second of everybody's time: what was read with
 * the same texts and the same knowledge is not read again, and who asks at the same time waits for the same reading.
 */
export async function readRevisionSite(reader: DocumentReader, id: number, known: KnownToSite): Promise<ReadSite> {
  const { db } = reader;
  const key = JSON.stringify([[...(await readContent(db, id))], known]);
  const sites = kept.get(db) ?? new Map<string, Promise<ReadSite>>();
  kept.set(db, sites);
  const reading =
    sites.get(key) ?? openRevisionDocuments(reader, id).then((documents) => readApart('readSite', documents, known));
  // the newest is the last, the oldest goes
  sites.delete(key);
  sites.set(key, reading);
  for (const old of [...sites.keys()].slice(0, -most)) sites.delete(old);
  try {
    return await reading;
  } catch (error) {
    sites.delete(key);
    throw error;
  }
}

/**
 * The site of a revision that an action has found good. What it was measured by then may have gone since (a credential, a
 * network of this conductor): that is the fault of the nodes that need it, and keeps nobody from going on with the
 * others, or from stopping.
 */
export async function readRevision(reader: DocumentReader, id: number): Promise<Site> {
  const { site, faults } = await readRevisionSite(reader, id, {});
  if (site) return site;
  const errors = errorsIn(faults);
  throw new AppError('invalid_argument', `the documents of revision ${id} have faults: ${errors.join('; ')}`);
}

const namedNodes = 5;

/**
 * Describes nodes that the site has deployed, that run what it deployed still, and that are in no document any more: `2
 * deployed nodes are in no document any more: n1, n2; they stay as they are`. `undefined` = there are none.
 * @param names of the nodes in the documents
 */
export async function describeLeftBehind(db: Queryable, names: ReadonlySet<string>): Promise<string | undefined> {
  const rows = await db
    .select({ name: siteNodes.name })
    .from(siteNodes)
    .innerJoin(nodes, and(eq(nodes.uuid, siteNodes.nodeUuid), eq(nodes.instanceUuid, siteNodes.instanceUuid)))
    .orderBy(asc(siteNodes.name));
  const left = rows.flatMap(({ name }) => (names.has(name) ? [] : [name]));
  if (left.length === 0) return undefined;
  const listed = nameSome(left, namedNodes);
  const [whose, stays] =
    left.length === 1
      ? ['1 deployed node is', 'it stays as it is']
      : [`${left.length} deployed nodes are`, 'they stay as they are'];
  return `${whose} in no document any more: ${listed}; ${stays} (baton undeploy frees a node)`;
}

/** Plugins whose order is asked for: those named, or those of a revision. */
export interface PluginChoice {
  /** `ntp@1.0,zabbix@2.1` */
  readonly plugins?: string | undefined;
  /** `buffer`, `committed` …, or a revision's number. */
  readonly version?: string | undefined;
}

/**
 * The plugins that are meant: without a word those of the committed revision; where none is committed, the newest version
 * of each that was uploaded.
 * @throws AppError `invalid_argument` for what can't be read, or a revision with faults; `not_found`
 */
export async function choosePlugins(context: SitesContext, choice: PluginChoice): Promise<PluginTasks[]> {
  if (choice.plugins !== undefined && choice.version !== undefined) {
    throw new AppError('invalid_argument', 'plugins and version: one of the two');
  }
  if (choice.plugins !== undefined) return loadPluginTasks(context.db, parseKeys(choice.plugins));
  const revision = await findRevision(context, choice.version);
  if (revision !== undefined) return loadPluginTasks(context.db, await pluginsOf(context, revision));
  const newest = new Map((await listPlugins(context.db)).map(({ name, version }) => [name, version]));
  return loadPluginTasks(
    context.db,
    [...newest].map(([name, version]) => ({ name, version })),
  );
}

function parseKeys(text: string): PluginKey[] {
  return text.split(',').map((each) => {
    const at = each.indexOf('@');
    if (at > 0 && at < each.length - 1) return { name: each.slice(0, at), version: each.slice(at + 1) };
    throw new AppError(
      'invalid_argument',
      `plugins: ${each || 'an empty name'}: it must be NAME@VERSION: the version stands after the @`,
    );
  });
}

async function findRevision({ db }: SitesContext, version: string | undefined): Promise<number | undefined> {
  const roles = await readRoles(db);
  if (version === undefined) return roles.get('committed');
  if (/^\d{1,9}$/.test(version)) return Number(version);
  const role = parseRole(version);
  const id = role && roles.get(role);
  if (id !== undefined) return id;
  throw new AppError(
    role ? 'not_found' : 'invalid_argument',
    role
      ? `version: ${describeNoRevision(role)}`
      : `version: ${JSON.stringify(version)}: it must be buffer, committed, last-site-action, successful-site-action or a revision’s number`,
  );
}

async function pluginsOf(context: SitesContext, revision: number): Promise<readonly PluginKey[]> {
  const { site, faults } = await checkRevision(context, revision);
  if (site) return site.plugins;
  const errors = errorsIn(faults);
  throw remarkError('invalid_argument', newRemark('revision-faults', { revision, faults: errors }), { faults });
}
