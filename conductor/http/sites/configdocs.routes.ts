import { z } from 'zod';
import { Status } from '#conductor/api/service.ts';
import { Collection, Documents } from '#conductor/api/sites.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, answersOther, routesOf } from '#conductor/http/routing/define-routes.ts';
import { answerStatus, type StatusParts } from '#conductor/http/routing/error-answers.ts';
import {
  airshipFlag,
  airshipList,
  airshipPath,
  airshipQuery,
  answerDocuments,
  answerYaml,
  readText,
  VersionQuery,
  wantsSecrets,
} from '#conductor/http/sites/airship-values.ts';
import { newRemark, remarkError } from '#conductor/model/remarks/remark-words.ts';
import { bufferModes } from '#conductor/model/site/revision-roles.ts';
import type { SiteFault } from '#conductor/model/site/site-report.ts';
import { readApart } from '#conductor/sites/apart/read-apart.ts';
import { renderDocuments } from '#conductor/sites/documents/merge-designs.ts';
import { parseUpload } from '#conductor/sites/documents/yaml/parse-upload.ts';
import { checkDocuments, checkRevision } from '#conductor/sites/revisions/check-revision.ts';
import { type CommitOutcome, commitBuffer } from '#conductor/sites/revisions/commit-buffer.ts';
import {
  chooseVersions,
  compareVersions,
  findCollection,
  readVersion,
  resolveVersion,
} from '#conductor/sites/revisions/compare-versions.ts';
import {
  isSecretContent,
  openText,
  shownDocument,
  storedDocument,
} from '#conductor/sites/revisions/encrypted-documents.ts';
import { openRevisionDocuments, readRoles } from '#conductor/sites/revisions/revision-store.ts';
import {
  type CollectionUpload,
  documentsWithUpload,
  uploadCollection,
} from '#conductor/sites/revisions/upload-collection.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf("site documents (Airship's)");
const path = `${airshipPath}/configdocs` as const;

const CollectionParams = z.object({
  collection: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/, 'must be up to 128 letters, digits and . _ -, the first no mark'),
});

const list = route.get(
  path,
  'List the collections of documents, and what differs between two versions',
  answers(200, 'a list, one entry per collection, with base_status and new_status', z.array(Collection)),
  {
    query: airshipQuery({
      'base-version': z.string().optional().describe('a role, or a number; default committed'),
      'diff-version': z.string().optional().describe('a role, or a number; default buffer'),
      versions: airshipList.describe("Shipyard's: committed,buffer; two with a comma between, or one after another"),
      version: airshipList.describe("what Shipyard's documentation calls `versions`"),
    }),
  },
);

const upload = route.post(
  `${path}/{collection}`,
  'Put a collection of documents into the buffer',
  {
    ...answers(201, "a Status with the site's faults", Status),
    ...answers(200, 'it said so before', Status),
  },
  {
    params: CollectionParams,
    query: airshipQuery({
      buffermode: z
        .string()
        .toLowerCase()
        .overwrite((mode) => mode || 'rejectoncontents')
        .pipe(z.enum(bufferModes, { error: `must be one of ${bufferModes.join(', ')}` }))
        .default('rejectoncontents'),
      'empty-collection': airshipFlag.describe('the collection goes; the body is empty'),
      dryrun: airshipFlag.describe("Baton's own: report faults, and store nothing"),
    }),
    limits: 'documents',
    body: { content: { 'application/x-yaml': { schema: z.string() } } },
  },
);

const show = route.get(
  `${path}/{collection}`,
  'Show a collection as it was uploaded, byte for byte; of encrypted documents a digest of their data',
  answersOther(200, 'YAML', 'application/x-yaml'),
  { params: CollectionParams, query: VersionQuery },
);

/** Serves `/api/v1.0/configdocs` (airship.md §5). */
export function configdocsRoutes(app: ApiApp, context: HttpContext): void {
  const { db } = context;

  app.openapi(list, async (c) => {
    const query = c.req.valid('query');
    const versions = query.versions ?? query.version;
    const pair = chooseVersions({ versions, base: query['base-version'], diff: query['diff-version'] });
    return c.json(await compareVersions(db, pair));
  });

  app.openapi(upload, async (c) => {
    const { buffermode: mode, 'empty-collection': isEmpty = false, dryrun: isDryRun } = c.req.valid('query');
    const content = await readUpload(readText(c), isEmpty);
    const { collection } = c.req.valid('param');
    const wanted: CollectionUpload = { collection, mode, content, user: c.get('caller').user };
    if (isDryRun === true) {
      const { faults } = await checkDocuments(context, await documentsWithUpload(context, wanted));
      const [what, then] = content ? ['is not stored', 'with it'] : ['stays', 'without it'];
      const message = `DRYRUN: collection ${collection} ${what}; ${then} the site has ${describeErrors(faults)}.`;
      return answerStatus(c, validationStatus(200, message, faults));
    }
    const { revision, isNew } = await uploadCollection(context, wanted);
    const { faults } = revision ? await checkRevision(context, revision.id) : { faults: [] };
    const id = revision?.id ?? 0;
    const message = describeUpload(wanted, { id, isNew, errors: describeErrors(faults) });
    return answerStatus(c, { ...validationStatus(isNew ? 201 : 200, message, faults), revision: id });
  });

  app.openapi(show, async (c) => {
    const { version } = c.req.valid('query');
    const wanted = version === undefined ? undefined : readVersion('version', version);
    const content = await findCollection(db, c.req.valid('param').collection, wanted);
    const { secrets, log } = context;
    if (!isSecretContent(content)) return answerYaml(c, content.text);
    if (!wantsSecrets(c, c.req.valid('query'))) {
      return answerDocuments(
        c,
        content.documents.map((document) => {
          const { data } = shownDocument(secrets, storedDocument('', document));
          return { schema: document['schema'], metadata: document['metadata'], data };
        }),
        'yaml',
      );
    }
    log.info({ collection: c.req.valid('param').collection, user: c.get('caller').user }, 'encrypted documents shown');
    return answerYaml(c, openText(secrets, content));
  });
}

/** @throws AppError `invalid_argument` with the faults of each document. */
async function readUpload(text: string, isEmpty: boolean): Promise<CollectionUpload['content']> {
  const { documents, faults } = await parseUpload(text);
  const errors = faults.filter(({ level }) => level === 'Error');
  if (errors.length > 0) {
    const details = { faults, reason: 'InvalidDocuments' };
    throw new AppError('invalid_argument', `The upload can't be used: it has ${describeErrors(faults)}.`, { details });
  }
  if (isEmpty && documents.length > 0) {
    throw new AppError('invalid_argument', 'empty-collection: the body has documents; leave out one or the other');
  }
  if (!isEmpty && documents.length === 0) {
    throw remarkError('invalid_argument', newRemark('no-documents-given', {}));
  }
  return isEmpty ? undefined : { text, documents };
}

/** Describes what has happened, and what the site is by now. */
function describeUpload(
  { collection, content }: Pick<CollectionUpload, 'collection' | 'content'>,
  { id, isNew, errors }: { readonly id: number; readonly isNew: boolean; readonly errors: string },
): string {
  if (isNew && content) return `Collection ${collection} is in the buffer: revision ${id} has ${errors}.`;
  if (isNew) return `Collection ${collection} is removed, in the buffer: revision ${id} has ${errors}.`;
  if (content) return `Nothing has changed: revision ${id} says so already, and has ${errors}.`;
  return `Nothing has changed: no collection ${collection}; revision ${id} has ${errors}.`;
}

function validationStatus(code: 200 | 201, message: string, faults: readonly SiteFault[]) {
  const isFaulty = faults.some(({ level }) => level === 'Error');
  const status = isFaulty ? 'Failure' : 'Success';
  return { status, code, message, reason: 'Validation', faults } as const satisfies StatusParts;
}

function describeErrors(faults: readonly SiteFault[]): string {
  const count = faults.filter(({ level }) => level === 'Error').length;
  if (count === 0) return 'no errors';
  return count === 1 ? '1 error' : `${count} errors`;
}

const commit = route.post(
  `${airshipPath}/commitconfigdocs`,
  'Commit the buffer, after its documents are checked',
  {
    ...answers(200, 'a Status with what was found', Status),
    ...answers(400, 'the documents have errors: a Status with all of them', Status),
    409: { description: 'the buffer is empty, or has changed meanwhile' },
  },
  {
    query: airshipQuery({
      force: airshipFlag.describe('commit it with its errors'),
      dryrun: airshipFlag.describe('check and report, and change nothing; overrides force'),
    }),
  },
);

/** Serves `/api/v1.0/commitconfigdocs` (airship.md §5). */
export function commitConfigdocsRoutes(app: ApiApp, context: HttpContext): void {
  app.openapi(commit, async (c) => {
    const { force = false, dryrun: dryRun = false } = c.req.valid('query');
    return answerStatus(c, statusOf(await commitBuffer(context, { force, dryRun, user: c.get('caller').user })));
  });
}

/** Makes Shipyard's status, with the revision behind it. */
function statusOf({ outcome, faults, revisionId: revision }: CommitOutcome) {
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
  } as const satisfies StatusParts;
}

const showRendered = route.get(
  `${airshipPath}/renderedconfigdocs`,
  'Show all documents as they are worked from: nodes with what they have from their host profiles',
  {
    ...answers(200, 'YAML, or a list with Accept: application/json', Documents),
    400: { description: 'the documents have errors: a Status with all of them' },
  },
  { query: VersionQuery },
);

/** Serves `/api/v1.0/renderedconfigdocs` (airship.md §5). */
export function renderedConfigdocsRoutes(app: ApiApp, context: HttpContext): void {
  app.openapi(showRendered, async (c) => {
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
    const { documents: clear, shown } = await readApart('renderSite', documents);
    if (isClear) context.log.info({ revision: id, user: c.get('caller').user }, 'encrypted documents shown');
    const rendered = renderDocuments(isClear ? clear : shown);
    return answerDocuments(
      c,
      rendered.map(({ schema, metadata, data }) => ({ schema, metadata, data })),
    );
  });
}
