import { z } from 'zod';
import { Tags } from '#conductor/api/sites.ts';
import { airshipPath, readText, revisionNumber } from '#conductor/http/airship-values.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, routesOf } from '#conductor/http/define-routes.ts';
import { readMapping } from '#conductor/http/read-mapping.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { getRevision, listTags } from '#conductor/sites/revisions/revision-store.ts';
import { removeTag, removeTags, setTag } from '#conductor/sites/revisions/revision-tags.ts';
import { viewTags } from '#conductor/sites/revisions/revision-view.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf("site revisions (Airship's)");
const path = `${airshipPath}/revisions/{revision}/tags` as const;
const onePath = `${path}/{tag}` as const;

const RevisionParams = z.object({ revision: revisionNumber });
const TagParams = z.object({
  revision: revisionNumber,
  tag: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'must be up to 64 letters, digits and . _ -'),
});

const list = route.get(path, "List a revision's tags", answers(200, 'tag → its data', Tags), {
  params: RevisionParams,
});

const show = route.get(onePath, "Show a revision's tag", answers(200, 'tag → its data', Tags), { params: TagParams });

const set = route.post(onePath, 'Tag a revision, or give its tag other data', answers(201, 'tag → its data', Tags), {
  params: TagParams,
  body: { content: { 'application/x-yaml': { schema: z.record(z.string(), z.unknown()) } } },
});

const remove = route.delete(onePath, "Remove a revision's tag", answers(204, 'gone'), { params: TagParams });

const removeAll = route.delete(path, "Remove a revision's tags, but for those that Baton sets", answers(204, 'gone'), {
  params: RevisionParams,
});

/** `/api/v1.0/revisions/{revision}/tags` (Deckhand, airship.md §5). */
export function revisionTagRoutes({ db, log }: Pick<HttpContext, 'db' | 'log'>): ApiApp {
  const app = newApiApp();

  app.openapi(list, async (c) => {
    const { id } = await getRevision(db, c.req.valid('param').revision);
    return c.json(viewTags(await listTags(db, id)));
  });

  app.openapi(show, async (c) => {
    const { revision, tag } = c.req.valid('param');
    const { id } = await getRevision(db, revision);
    const found = (await listTags(db, id)).filter((row) => row.tag === tag);
    if (found.length === 0) throw new AppError('not_found', `Revision ${id} has no tag ${tag}.`);
    return c.json(viewTags(found));
  });

  app.openapi(set, async (c) => {
    const { revision, tag } = c.req.valid('param');
    const data: JsonObject = readMapping(await readText(c));
    await setTag(db, { revisionId: revision, tag, data, user: c.get('caller').user });
    log.info({ revision, tag, user: c.get('caller').user }, 'revision tagged');
    return c.json({ [tag]: data }, 201);
  });

  app.openapi(remove, async (c) => {
    const { revision, tag } = c.req.valid('param');
    await removeTag(db, revision, tag);
    log.info({ revision, tag, user: c.get('caller').user }, 'tag of a revision removed');
    return c.body(null, 204);
  });

  app.openapi(removeAll, async (c) => {
    const { revision } = c.req.valid('param');
    await removeTags(db, revision);
    log.info({ revision, user: c.get('caller').user }, 'tags of a revision removed');
    return c.body(null, 204);
  });

  return app;
}
