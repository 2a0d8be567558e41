import { inArray, sql } from 'drizzle-orm';
import { z } from 'zod';
import { findOpenAction } from '#conductor/flows/site-actions/action-store.ts';
import type { ImageMention } from '#conductor/images/image-users.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { rowsOf } from '#conductor/kernel/db/query/statement.ts';
import { siteContents, siteRevisionCollections } from '#conductor/kernel/db/schema/site.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { actionsLike } from '#conductor/model/site/action-table.ts';
import { readApart } from '#conductor/sites/apart/read-apart.ts';
import { usedSchemas } from '#conductor/sites/documents/yaml/upload-faults.ts';
import { deletePlugin, type PluginKey } from '#conductor/sites/plugins/plugin-store.ts';
import { openDocument, storedDocument } from '#conductor/sites/revisions/encrypted-documents.ts';
import { type DocumentReader, openRevisionDocuments, readRoles } from '#conductor/sites/revisions/revision-store.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

/** The document by which a site has a plugin. */
const pluginSchema = 'baton/Plugin/v1';

const RevisionRows = z.array(z.object({ revision_id: z.number(), document: z.string(), nodes: z.number() }));
const FlowRows = z.array(z.object({ uuid: z.string() }));

/**
 * Forgets a plugin that nobody needs.
 * @throws AppError `not_found`; `conflict` while what is committed names it, a node is deployed from documents that do, a flow
 * has its tasks before it, or an action runs, whose flows may need it
 */
export async function removePlugin(tx: Transaction, key: PluginKey): Promise<void> {
  const reported = `plugin ${key.name} ${key.version}`;
  const refuse = (why: string): never => {
    throw new AppError('conflict', `${reported} stays while ${why}`);
  };
  const action = await findOpenAction(tx, actionsLike('deploy_site'));
  if (action) refuse(`action ${action.id} (${action.name}) runs`);
  const flow = await findFlow(tx, key);
  if (flow !== undefined) refuse(`flow ${flow} has its tasks to run`);
  const committed = (await readRoles(tx)).get('committed') ?? 0;
  const users = await findRevisions(tx, key, committed);
  const document = users.get(committed)?.document;
  if (document !== undefined) refuse(`the committed documents name it: ${pluginSchema} ${document}`);
  const deployed = [...users].filter(([, { nodes }]) => nodes > 0);
  if (deployed.length > 0) {
    const which = deployed.map(([revision, { nodes }]) => `${nodes} of revision ${revision}`).join(', ');
    refuse(`nodes are deployed with it: ${which}; what they have would be known no more`);
  }
  if (!(await deletePlugin(tx, key))) throw new AppError('not_found', `there is no ${reported}`);
}

/** The committed revision, and those that nodes were deployed from, as far as they name it. */
async function findRevisions(
  db: Queryable,
  { name, version }: PluginKey,
  committed: number,
): Promise<ReadonlyMap<number, { readonly document: string; readonly nodes: number }>> {
  const found = await db.execute(sql`
    select c.revision_id, min(d #>> '{metadata,name}') as document,
      (select count(*)::int from site_nodes where revision_id = c.revision_id) as nodes
    from site_revision_collections c
    join site_contents on hash = c.content_hash
    cross join jsonb_array_elements(documents) d
    where (c.revision_id = ${committed} or c.revision_id in (select revision_id from site_nodes))
      and d ->> 'schema' = ${pluginSchema}
      and coalesce(d #>> '{data,name}', d #>> '{metadata,name}') = ${name}
      and d #>> '{data,version}' = ${version}
    group by c.revision_id
    order by c.revision_id`);
  return new Map(RevisionRows.parse(rowsOf(found)).map(({ revision_id: id, ...row }) => [id, row]));
}

/** An open flow that has one of its tasks, planned or asked for. */
async function findFlow(db: Queryable, { name, version }: PluginKey): Promise<string | undefined> {
  const ref = JSON.stringify({ plugin: { plugin: name, version } });
  const found = await db.execute(sql`
    select uuid from flows
    where ended_at is null and (requested_steps @> ${`[${ref}]`}::text::jsonb
      or exists (select from flow_steps where flow_uuid = flows.uuid and jsonb_build_object('plugin', plugin) @> ${ref}::text::jsonb))
    limit 1`);
  return FlowRows.parse(rowsOf(found))[0]?.uuid;
}

/** Documents that name the credential, of what is committed and of the buffer; in order, each once. */
export async function findCredentialUsers(reader: DocumentReader, credential: string): Promise<string[]> {
  const roles = await readRoles(reader.db);
  const ids = new Set([roles.get('committed') ?? 0, roles.get('buffer') ?? 0]);
  const users = new Set<string>();
  for (const id of ids) {
    const written = await openRevisionDocuments(reader, id);
    // a name may come by layering or substitution
    const { documents: rendered } = await readApart('renderLayers', written);
    for (const { schema, name, data } of [...written, ...rendered]) {
      if (usedSchemas.has(schema) && names(data, credential)) users.add(`${schema}/${name}`);
    }
  }
  return [...users];
}

/** Whether `credential: NAME` stands anywhere in it. */
function names(value: unknown, credential: string): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(
    ([key, inner]) => (key === 'credential' && inner === credential) || names(inner, credential),
  );
}

/**
 * Finds images in chunks (`image-users.ts`) that encrypted documents of all stored revisions name.
 * @throws AppError `conflict` where these can't be read: which images are used is not known then
 */
export async function findSealedImages({ db, secrets }: DocumentReader): Promise<ImageMention[]> {
  const { revisionId, collection, contentHash } = siteRevisionCollections;
  const contents = await db
    .select({ hash: siteContents.hash, documents: siteContents.documents })
    .from(siteContents)
    .where(sql`${siteContents.documents}::text like '%"sealed": "%'`);
  const open = (document: JsonObject): unknown => openDocument(secrets, storedDocument('', document)).data;
  try {
    const opened = contents.map(({ hash, documents }) => [hash, JSON.stringify(documents.map(open))] as const);
    const texts = new Map(opened.filter(([, text]) => text.includes('.caibx')));
    const rows = await db
      .select({ id: sql<string>`${revisionId}::text`, name: collection, hash: contentHash })
      .from(siteRevisionCollections)
      .where(inArray(contentHash, [...texts.keys()]))
      .orderBy(revisionId);
    return rows.map(({ id, name, hash }) => ({ id, name, text: texts.get(hash) ?? '' }));
  } catch (error) {
    if (errorCode(error) !== 'invalid_argument') throw error;
    const message = 'which images are used is not known: encrypted documents of the site can not be read';
    throw new AppError('conflict', message, { cause: error });
  }
}
