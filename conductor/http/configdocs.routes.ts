import { z } from 'zod';
import { Status } from '#conductor/api/faults.ts';
import { Collection } from '#conductor/api/sites.ts';
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
} from '#conductor/http/airship-values.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, answersOther, routesOf } from '#conductor/http/define-routes.ts';
import { answerStatus, type StatusParts } from '#conductor/http/status-object.ts';
import { bufferModes } from '#conductor/model/buffer-modes.ts';
import { newRemark, remarkError } from '#conductor/model/remark-words.ts';
import type { SiteFault } from '#conductor/model/site-fault.ts';
import { parseUpload } from '#conductor/sites/documents/parse-upload.ts';
import { checkDocuments, checkRevision } from '#conductor/sites/revisions/check-revision.ts';
import {
  chooseVersions,
  compareVersions,
  findCollection,
  readVersion,
} from '#conductor/sites/revisions/compare-versions.ts';
import {
  isSecretContent,
  openText,
  shownDocument,
  storedDocument,
} from '#conductor/sites/revisions/encrypted-documents.ts';
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
    body: { content: { 'application/x-yaml': { schema: z.string() } } },
  },
);

const show = route.get(
  `${path}/{collection}`,
  'Show a collection as it was uploaded, byte for byte; of encrypted documents a digest of their data',
  answersOther(200, 'YAML', 'application/x-yaml'),
  { params: CollectionParams, query: VersionQuery },
);

/** `/api/v1.0/configdocs` (airship.md §5). */
export function configdocsRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();
  const { db } = context;

  app.openapi(list, async (c) => {
    const query = c.req.valid('query');
    const versions = query.versions ?? query.version;
    const pair = chooseVersions({ versions, base: query['base-version'], diff: query['diff-version'] });
    return c.json(await compareVersions(db, pair));
  });

  app.openapi(upload, async (c) => {
    const { buffermode: mode, 'empty-collection': isEmpty = false, dryrun: isDryRun } = c.req.valid('query');
    const content = await readUpload(await readText(c), isEmpty);
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

  return app;
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

/** What has happened, and what the site is by now. */
function describeUpload(
  { collection, content }: Pick<CollectionUpload, 'collection' | 'content'>,
  { id, isNew, errors }: { readonly id: number; readonly isNew: boolean; readonly errors: string },
): string {
  if (isNew && content) return `Collection ${collection} is in the buffer: revision ${id} has ${errors}.`;
  if (isNew) return `Collection ${collection} is removed, in the buffer: revision ${id} has ${errors}.`;
  if (content) return `Nothing has changed: revision ${id} says so already, and has ${errors}.`;
  return `Nothing has changed: no collection ${collection}; revision ${id} has ${errors}.`;
}

function validationStatus(code: 200 | 201, message: string, faults: readonly SiteFault[]): StatusParts {
  const isFaulty = faults.some(({ level }) => level === 'Error');
  return { status: isFaulty ? 'Failure' : 'Success', code, message, reason: 'Validation', faults };
}

function describeErrors(faults: readonly SiteFault[]): string {
  const count = faults.filter(({ level }) => level === 'Error').length;
  if (count === 0) return 'no errors';
  return count === 1 ? '1 error' : `${count} errors`;
}
