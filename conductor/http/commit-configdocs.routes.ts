import { Status } from '#conductor/api/faults.ts';
import { airshipFlag, airshipPath, airshipQuery } from '#conductor/http/airship-values.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, routesOf } from '#conductor/http/define-routes.ts';
import { answerStatus, type StatusParts } from '#conductor/http/status-object.ts';
import { type CommitOutcome, commitBuffer } from '#conductor/sites/revisions/commit-buffer.ts';

const route = routesOf("site documents (Airship's)");

const commit = route.post(
  `${airshipPath}/commitconfigdocs`,
  'Commit the buffer, after its documents are checked',
  {
    ...answers(200, 'a Status with what was found', Status),
    400: { description: 'the documents have errors: a Status with all of them' },
    409: { description: 'the buffer is empty, or has changed meanwhile' },
  },
  {
    query: airshipQuery({
      force: airshipFlag.describe('commit it with its errors'),
      dryrun: airshipFlag.describe('check and report, and change nothing; overrides force'),
    }),
  },
);

/** `/api/v1.0/commitconfigdocs` (airship.md §5). */
export function commitConfigdocsRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();

  app.openapi(commit, async (c) => {
    const { force = false, dryrun: dryRun = false } = c.req.valid('query');
    return answerStatus(c, statusOf(await commitBuffer(context, { force, dryRun, user: c.get('caller').user })));
  });

  return app;
}

/** Shipyard's words, with the revision behind them. */
function statusOf({ outcome, faults, revisionId: revision }: CommitOutcome): StatusParts {
  const isFaulty = faults.some(({ level }) => level === 'Error');
  const found = isFaulty ? 'its documents have errors' : 'its documents have no errors';
  const messages: Readonly<Record<CommitOutcome['outcome'], string>> = {
    committed: `Revision ${revision} is committed; ${found}.`,
    forced: `FORCED SUCCESS: revision ${revision} is committed; ${found}.`,
    'dry run': `DRYRUN: revision ${revision} is not committed; ${found}.`,
    refused: `Revision ${revision} is not committed: ${found}.`,
  };
  return {
    status: isFaulty ? 'Failure' : 'Success',
    code: outcome === 'refused' ? 400 : 200,
    message: messages[outcome],
    reason: outcome === 'refused' ? 'InvalidConfigurationDocuments' : 'Validation',
    faults,
    revision,
  };
}
