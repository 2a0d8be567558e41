import type { Context } from 'hono';
import { z } from 'zod';
import { CollectionChanges, DocumentChanges, Documents, Revision, Revisions, Tags } from '#conductor/api/sites.ts';
import type { ApiEnv } from '#conductor/http/routing/api-env.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, originOf, routesOf } from '#conductor/http/routing/define-routes.ts';
import {
  airshipFlag,
  airshipPath,
  airshipQuery,
  answerDocuments,
  readMapping,
  readText,
  revisionNumber,
} from '#conductor/http/sites/airship-values.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { SiteRevisionRow } from '#conductor/kernel/db/schema/site.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { rollbackModes } from '#conductor/model/site/revision-roles.ts';
import { rollBack } from '#conductor/sites/revisions/commit-buffer.ts';
import { compareCollections, compareDocuments } from '#conductor/sites/revisions/compare-versions.ts';
import { shownDocument } from '#conductor/sites/revisions/encrypted-documents.ts';
import { deleteRevision } from '#conductor/sites/revisions/prune-revisions.ts';
import {
  getRevision,
  listCollections,
  listRevisionDocuments,
  listRevisions,
  listTags,
  readContent,
  readRoles,
} from '#conductor/sites/revisions/revision-store.ts';
import {
  removeTag,
  removeTags,
  setTag,
  viewListedRevision,
  viewRevision,
  viewTags,
} from '#conductor/sites/revisions/revision-tags.ts';
import type { SiteDocument } from '#conductor/sites/site.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf("site revisions (Airship's)");
const path = `${airshipPath}/revisions` as const;
const onePath = `${path}/{revision}` as const;

const RevisionParams = z.object({ revision: revisionNumber });
const PairParams = z.object({ revision: revisionNumber, other: revisionNumber });

const list = route.get(
  path,
  "List revisions of the site's documents",
  answers(200, 'count and results, each with its collections (buckets), the names of its tags, its roles', Revisions),
  {
    query: airshipQuery({
      tag: z
        .union([z.string().transform((tag) => [tag]), z.array(z.string())])
        .optional()
        .describe('only those that have it; of several, all'),
      sort: z.enum(['id', 'createdAt'], { error: 'must be id or createdAt' }).optional(),
      order: z.enum(['asc', 'desc'], { error: 'must be asc or desc' }).default('asc'),
      limit: z.coerce.number().int().min(1).max(10_000).optional().describe('the first of that order'),
    }),
  },
);

const show = route.get(onePath, 'Show a revision', answers(200, 'the revision; its tags with their data', Revision), {
  params: RevisionParams,
});

const remove = route.delete(
  onePath,
  'Delete a revision, with the texts that no other has; never the committed one, nor the newest',
  { ...answers(204, 'gone'), 409: { description: 'it is needed, or has tags' } },
  { params: RevisionParams, query: airshipQuery({ force: airshipFlag.describe('also one that has tags') }) },
);

const documents = route.get(
  `${onePath}/documents`,
  "Show a revision's documents",
  answers(200, 'YAML, or a list with Accept: application/json', Documents),
  {
    params: RevisionParams,
    query: airshipQuery({
      schema: z.string().optional(),
      'metadata.name': z.string().optional(),
      'status.bucket': z.string().optional().describe('only of this collection'),
    }),
  },
);

const diff = route.get(
  `${onePath}/diff/{other}`,
  'Show which collections differ between two revisions; 0 = an empty revision',
  answers(200, 'collection → created, modified, deleted or unmodified, from the older to the newer', CollectionChanges),
  { params: PairParams },
);

const deepDiff = route.get(
  `${onePath}/deepdiff/{other}`,
  'Show every document and value that changes from one revision to the other; 0 = an empty revision',
  answers(200, 'document_added, document_deleted, document_changed; each with count and details', DocumentChanges),
  { params: PairParams },
);

const rollback = route.post(
  `${airshipPath}/rollback/{revision}`,
  'Put what an old revision says into the buffer; 0 = nothing at all',
  { ...answers(201, 'the new revision', Revision), 409: { description: 'uploads are not committed' } },
  {
    params: RevisionParams,
    query: airshipQuery({
      buffermode: z
        .enum(rollbackModes, { error: `must be one of ${rollbackModes.join(', ')}` })
        .default('replace')
        .describe("Baton's own: what becomes of uploads that are not committed; Deckhand has no such question"),
    }),
  },
);

/** Serves `/api/v1.0/revisions`, `/api/v1.0/rollback` (Deckhand, airship.md §5). */
export function revisionRoutes(app: ApiApp, { db, log, secrets }: Pick<HttpContext, 'db' | 'log' | 'secrets'>): void {
  const shownDocuments = async (id: number, collection?: string) =>
    (await listRevisionDocuments(db, id, collection)).map((document) => shownDocument(secrets, document));

  app.openapi(list, async (c) => {
    const { tag = [], order, limit } = c.req.valid('query');
    const rows = await listRevisions(db, tag, { order, limit });
    const collections = await listCollections(db);
    const tagsOf = Map.groupBy(await listTags(db), ({ revisionId }) => revisionId);
    const roles = await readRoles(db);
    const url = `${originOf(c)}${path}`;
    const results = rows.map((row) => {
      const of = { collections: collections.get(row.id) ?? [], tags: tagsOf.get(row.id) ?? [] };
      return viewListedRevision(row, { ...of, roles, url });
    });
    return c.json({ count: results.length, next: null, prev: null, results });
  });

  app.openapi(show, async (c) => {
    const row = await getRevision(db, c.req.valid('param').revision);
    return c.json(await viewOne(db, c, row));
  });

  app.openapi(remove, async (c) => {
    const { revision } = c.req.valid('param');
    const force = c.req.valid('query').force === true;
    await deleteRevision(db, revision, { force });
    log.info({ revision, force, user: c.get('caller').user }, 'site revision deleted');
    return c.body(null, 204);
  });

  app.openapi(documents, async (c) => {
    const { schema, 'metadata.name': name, 'status.bucket': collection } = c.req.valid('query');
    const { id } = await getRevision(db, c.req.valid('param').revision);
    const found = await shownDocuments(id, collection);
    const chosen = found.filter(
      (document) =>
        (schema === undefined || document.schema === schema) && (name === undefined || document.name === name),
    );
    return answerDocuments(
      c,
      chosen.map((document) => ({ ...plainDocument(document), status: { bucket: document.collection, revision: id } })),
    );
  });

  app.openapi(diff, async (c) => {
    const { revision, other } = c.req.valid('param');
    const [older, newer] = revision < other ? [revision, other] : [other, revision];
    await requireRevisions(db, [older, newer]);
    return c.json(Object.fromEntries(compareCollections(await readContent(db, older), await readContent(db, newer))));
  });

  app.openapi(deepDiff, async (c) => {
    const { revision, other } = c.req.valid('param');
    await requireRevisions(db, [revision, other]);
    const [before, after] = [await shownDocuments(revision), await shownDocuments(other)];
    const { added, removed, changed } = compareDocuments(before, after);
    return c.json({
      document_added: { count: added.length, details: added },
      document_deleted: { count: removed.length, details: removed },
      document_changed: { count: changed.length, details: changed },
    });
  });

  app.openapi(rollback, async (c) => {
    const { buffermode: mode } = c.req.valid('query');
    const row = await rollBack(db, c.req.valid('param').revision, c.get('caller').user, mode);
    return c.json(await viewOne(db, c, row), 201);
  });
}

async function viewOne(db: Queryable, c: Context<ApiEnv>, row: SiteRevisionRow) {
  const collections = [...(await readContent(db, row.id)).keys()];
  const url = `${originOf(c)}${path}`;
  return viewRevision(row, { collections, tags: await listTags(db, row.id), roles: await readRoles(db), url });
}

function plainDocument({ schema, metadata, data }: SiteDocument) {
  return { schema, metadata, data };
}

/** @throws AppError `not_found`; 0 is none and stands for an empty one. */
async function requireRevisions(db: Queryable, ids: readonly number[]): Promise<void> {
  for (const id of ids) if (id !== 0) await getRevision(db, id);
}

const tagsPath = `${airshipPath}/revisions/{revision}/tags` as const;
const tagPath = `${tagsPath}/{tag}` as const;

const TagParams = z.object({
  revision: revisionNumber,
  tag: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be up to 64 letters, digits and . _ -'),
});

const tagList = route.get(tagsPath, "List a revision's tags", answers(200, 'tag → its data', Tags), {
  params: RevisionParams,
});

const tagShow = route.get(tagPath, "Show a revision's tag", answers(200, 'tag → its data', Tags), {
  params: TagParams,
});

const tagSet = route.post(tagPath, 'Tag a revision, or give its tag other data', answers(201, 'tag → its data', Tags), {
  params: TagParams,
  limits: 'tag',
  body: { content: { 'application/x-yaml': { schema: z.record(z.string(), z.unknown()) } } },
});

const tagRemove = route.delete(tagPath, "Remove a revision's tag", answers(204, 'gone'), { params: TagParams });

const tagsRemove = route.delete(
  tagsPath,
  "Remove a revision's tags, but for those that Baton sets",
  answers(204, 'gone'),
  {
    params: RevisionParams,
  },
);

/** Serves `/api/v1.0/revisions/{revision}/tags` (Deckhand, airship.md §5). */
export function revisionTagRoutes(app: ApiApp, { db, log }: Pick<HttpContext, 'db' | 'log'>): void {
  app.openapi(tagList, async (c) => {
    const { id } = await getRevision(db, c.req.valid('param').revision);
    return c.json(viewTags(await listTags(db, id)));
  });

  app.openapi(tagShow, async (c) => {
    const { revision, tag } = c.req.valid('param');
    const { id } = await getRevision(db, revision);
    const found = (await listTags(db, id)).filter((row) => row.tag === tag);
    if (found.length === 0) throw new AppError('not_found', `Revision ${id} has no tag ${tag}.`);
    return c.json(viewTags(found));
  });

  app.openapi(tagSet, async (c) => {
    const { revision, tag } = c.req.valid('param');
    const data: JsonObject = readMapping(readText(c));
    await setTag(db, { revisionId: revision, tag, data, user: c.get('caller').user });
    log.info({ revision, tag, user: c.get('caller').user }, 'revision tagged');
    return c.json({ [tag]: data }, 201);
  });

  app.openapi(tagRemove, async (c) => {
    const { revision, tag } = c.req.valid('param');
    await removeTag(db, revision, tag);
    log.info({ revision, tag, user: c.get('caller').user }, 'tag of a revision removed');
    return c.body(null, 204);
  });

  app.openapi(tagsRemove, async (c) => {
    const { revision } = c.req.valid('param');
    await removeTags(db, revision);
    log.info({ revision, user: c.get('caller').user }, 'tags of a revision removed');
    return c.body(null, 204);
  });
}
