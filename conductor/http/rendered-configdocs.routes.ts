import { Documents } from '#conductor/api/sites.ts';
import { airshipPath, answerDocuments, VersionQuery, wantsSecrets } from '#conductor/http/airship-values.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, routesOf } from '#conductor/http/define-routes.ts';
import { renderDocuments } from '#conductor/sites/documents/merge-designs.ts';
import { renderSite } from '#conductor/sites/rendering/mask-encrypted.ts';
import { checkDocuments } from '#conductor/sites/revisions/check-revision.ts';
import { readVersion, resolveVersion } from '#conductor/sites/revisions/compare-versions.ts';
import { openRevisionDocuments, readRoles } from '#conductor/sites/revisions/revision-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf("site documents (Airship's)");

const show = route.get(
  `${airshipPath}/renderedconfigdocs`,
  'Show all documents as they are worked from: nodes with what they have from their host profiles',
  {
    ...answers(200, 'YAML, or a list with Accept: application/json', Documents),
    400: { description: 'the documents have errors: a Status with all of them' },
  },
  { query: VersionQuery },
);

/** `/api/v1.0/renderedconfigdocs` (airship.md §5). */
export function renderedConfigdocsRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();

  app.openapi(show, async (c) => {
    const { version } = c.req.valid('query');
    const { db } = context;
    const id = await resolveVersion(db, {
      roles: await readRoles(db),
      version: version === undefined ? 'buffer' : readVersion('version', version),
      isNamed: version !== undefined,
    });
    const isClear = wantsSecrets(c, c.req.valid('query'));
    const documents = await openRevisionDocuments(context, id);
    const { site, faults } = await checkDocuments(context, documents);
    if (!site) {
      const message = `Revision ${id} can't be rendered: its documents have errors.`;
      throw new AppError('invalid_argument', message, { details: { faults, reason: 'InvalidConfigurationDocuments' } });
    }
    const { documents: clear, shown } = renderSite(documents);
    if (isClear) context.log.info({ revision: id, user: c.get('caller').user }, 'encrypted documents shown');
    const rendered = renderDocuments(isClear ? clear : shown);
    return answerDocuments(
      c,
      rendered.map(({ schema, metadata, data }) => ({ schema, metadata, data })),
    );
  });

  return app;
}
