import { z } from 'zod';
import { Credential } from '#conductor/api/sites.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, routesOf } from '#conductor/http/routing/define-routes.ts';
import { airshipFlag, airshipPath, airshipQuery } from '#conductor/http/sites/airship-values.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';
import {
  deleteCredential,
  findCredential,
  type ListedCredential,
  listCredentials,
  putCredential,
} from '#conductor/sites/credentials.ts';
import { credentialName } from '#conductor/sites/documents/yaml/upload-faults.ts';
import { findCredentialUsers } from '#conductor/sites/revisions/find-users.ts';
import type { DocumentReader } from '#conductor/sites/revisions/revision-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf("site credentials (Baton's own)");
const path = `${airshipPath}/credentials` as const;
const onePath = `${path}/{credential}` as const;

const CredentialParams = z.object({
  credential: z.string().regex(credentialName, 'must be up to 255 letters, digits and . _ -, the first no mark'),
});

const list = route.get(
  path,
  'List the credentials that documents may name, without their passwords',
  answers(200, 'credentials', z.strictObject({ credentials: z.array(Credential) })),
);

const show = route.get(onePath, 'Show a credential, without its password', answers(200, 'the credential', Credential), {
  params: CredentialParams,
});

const put = route.put(
  onePath,
  'Store a user and password of BMCs or switches under a name; the password is never shown again',
  { ...answers(200, 'it was replaced', Credential), ...answers(201, 'it is new', Credential) },
  {
    params: CredentialParams,
    limits: 'usual',
    body: z.strictObject({
      username: z.string().max(255, 'must have 255 characters at most'),
      password: z.string().max(1024, 'must have 1024 characters at most'),
    }),
  },
);

const remove = route.delete(
  onePath,
  'Forget a credential',
  { ...answers(204, 'gone'), 409: { description: 'documents or switches name it' } },
  { params: CredentialParams, query: airshipQuery({ force: airshipFlag.describe('also one that documents name') }) },
);

/** Serves `/api/v1.0/credentials`. */
export function credentialRoutes(app: ApiApp, context: Pick<HttpContext, 'db' | 'secrets' | 'log' | 'networks'>): void {
  const { db, log } = context;

  app.openapi(list, async (c) => c.json({ credentials: (await listCredentials(db)).map(view) }));

  app.openapi(show, async (c) => c.json(await getView(context, c.req.valid('param').credential)));

  app.openapi(put, async (c) => {
    const { credential } = c.req.valid('param');
    const isNew = await putCredential(context, credential, c.req.valid('json'), c.get('caller').user);
    log.info({ credential, user: c.get('caller').user }, isNew ? 'site credential stored' : 'site credential replaced');
    return c.json(await getView(context, credential), isNew ? 201 : 200);
  });

  app.openapi(remove, async (c) => {
    const { credential } = c.req.valid('param');
    if (c.req.valid('query').force !== true) await requireUnusedCredential(context, credential);
    if (!(await deleteCredential(db, credential))) throw unknown(credential);
    log.info({ credential, user: c.get('caller').user }, 'site credential deleted');
    return c.body(null, 204);
  });
}

async function getView({ db }: Pick<HttpContext, 'db'>, name: string) {
  const found = await findCredential(db, name);
  if (!found) throw unknown(name);
  return view(found);
}

/** @throws AppError `conflict` naming the first switches and documents that name it. */
async function requireUnusedCredential(
  context: DocumentReader & Pick<HttpContext, 'networks'>,
  name: string,
): Promise<void> {
  const switches = context.networks.networks.switches.filter(({ credential }) => credential === name);
  const users = [
    ...switches.map(({ switchId }) => `switch ${switchId} of the networks file`),
    ...(await findCredentialUsers(context, name)),
  ];
  if (users.length === 0) return;
  const more = users.length > 3 ? ` and ${users.length - 3} more` : '';
  throw new AppError(
    'conflict',
    `Credential ${name} is named by ${users.slice(0, 3).join(', ')}${more}; change those first, or delete it with force=true.`,
  );
}

function view({ name, username, updatedBy, updatedAt }: ListedCredential) {
  return { name, username, updated_by: updatedBy, updated_at: apiTime(updatedAt) };
}

function unknown(name: string): AppError {
  return new AppError('not_found', `Credential ${name} could not be found.`);
}
