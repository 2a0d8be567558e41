import { eq, isNull, type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { siteContents, siteRevisionCollections } from '#conductor/kernel/db/schema/site.ts';
import { deployTemplateSteps, deployTemplates, runbookSteps, runbooks } from '#conductor/kernel/db/schema/template.ts';

/** A user that names an image: the image is kept for it. */
export interface ImageUser {
  readonly kind: 'node' | 'flow' | 'deploy_template' | 'runbook' | 'site_revision';
  /** A UUID, or a revision's number. */
  readonly id: string;
  readonly name: string | null;
}

/** Text that may have images' URLs, and whose it is. */
export interface ImageMention extends Omit<ImageUser, 'kind'> {
  readonly text: string;
}

/**
 * Finds the users of images in chunks, by the image's name: nodes, whose `instance_info` stays while they are deployed;
 * flows that have not ended; templates, runbooks, and every stored revision of a site. An image of that name on another
 * server counts, too: rather one is kept too many.
 * @param sealed what revisions say that only `sites` can read
 */
export async function findImageUsers(
  db: Queryable,
  sealed: readonly ImageMention[],
): Promise<ReadonlyMap<string, readonly ImageUser[]>> {
  const found = new Map<string, Map<string, ImageUser>>();
  const note = (kind: ImageUser['kind'], { id, name }: Omit<ImageUser, 'kind'>, images: ReadonlySet<string>): void => {
    for (const image of images) {
      const users = found.get(image) ?? new Map<string, ImageUser>();
      const key = `${kind} ${id}`;
      if (!users.has(key)) users.set(key, { kind, id, name });
      found.set(image, users);
    }
  };
  for (const mention of await nodesWith(db)) note('node', mention, imagesIn(mention.text));
  for (const mention of await flowsWith(db)) note('flow', mention, imagesIn(mention.text));
  for (const mention of await templatesWith(db)) note('deploy_template', mention, imagesIn(mention.text));
  for (const mention of await runbooksWith(db)) note('runbook', mention, imagesIn(mention.text));
  for (const revision of await revisionsWith(db)) note('site_revision', revision, revision.images);
  for (const mention of sealed) note('site_revision', mention, imagesIn(mention.text));
  return new Map([...found].map(([image, users]) => [image, [...users.values()]]));
}

/** Bytes of a file's name, at most. */
const mostNameBytes = 255;

/**
 * Finds the names of images in any text that has their URLs; the time grows with the text's length alone, whatever stands in
 * it.
 */
export function imagesIn(text: string): ReadonlySet<string> {
  const names = text.split(/[/"'\\?#\s]/).map((part) => decode(part.slice(0, Math.max(part.lastIndexOf('.caibx'), 0))));
  return new Set(names.filter((name) => name !== '' && Buffer.byteLength(`${name}.caibx`) <= mostNameBytes));
}

function decode(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name; // it has a % of its own
  }
}

function textOf(column: PgColumn): SQL<string> {
  return sql<string>`${column}::text`;
}

function mentionsImage(column: PgColumn): SQL {
  return sql`${column}::text like '%.caibx%'`;
}

function nodesWith(db: Queryable): Promise<ImageMention[]> {
  const { instanceInfo } = nodes;
  return db
    .select({ id: nodes.uuid, name: nodes.name, text: textOf(instanceInfo) })
    .from(nodes)
    .where(mentionsImage(instanceInfo))
    .orderBy(nodes.id);
}

function flowsWith(db: Queryable): Promise<ImageMention[]> {
  const text = sql<string>`${flows.requestedSteps}::text || coalesce(string_agg(${flowSteps.args}::text, ' '), '')`;
  return db
    .select({ id: flows.uuid, name: sql<string | null>`null`, text })
    .from(flows)
    .leftJoin(flowSteps, eq(flowSteps.flowUuid, flows.uuid))
    .where(isNull(flows.endedAt))
    .groupBy(flows.uuid);
}

function templatesWith(db: Queryable): Promise<ImageMention[]> {
  const { args } = deployTemplateSteps;
  return db
    .select({ id: deployTemplates.uuid, name: deployTemplates.name, text: textOf(args) })
    .from(deployTemplateSteps)
    .innerJoin(deployTemplates, eq(deployTemplates.uuid, deployTemplateSteps.templateUuid))
    .where(mentionsImage(args));
}

function runbooksWith(db: Queryable): Promise<ImageMention[]> {
  const { args } = runbookSteps;
  return db
    .select({ id: runbooks.uuid, name: runbooks.name, text: textOf(args) })
    .from(runbookSteps)
    .innerJoin(runbooks, eq(runbooks.uuid, runbookSteps.runbookUuid))
    .where(mentionsImage(args));
}

/** Finds the revisions with these images; each content is read once, however many revisions have it. */
async function revisionsWith(db: Queryable) {
  const { hash, documents } = siteContents;
  const { revisionId, collection, contentHash } = siteRevisionCollections;
  const contents = await db
    .select({ hash, text: textOf(documents) })
    .from(siteContents)
    .where(mentionsImage(documents));
  const imagesOf = new Map(contents.map((content) => [content.hash, imagesIn(content.text)]));
  const revisions = await db
    .select({ id: sql<string>`${revisionId}::text`, name: collection, hash: contentHash })
    .from(siteRevisionCollections)
    .orderBy(revisionId);
  return revisions.flatMap((revision) => {
    const images = imagesOf.get(revision.hash);
    return images ? [{ ...revision, images }] : [];
  });
}
