import { isUtf8 } from 'node:buffer';
import type { Context } from 'hono';
import { stringify } from 'yaml';
import { z } from 'zod';
import { looseBoolean } from '#conductor/api/node-description.ts';
import { Documents } from '#conductor/api/sites.ts';
import type { ApiEnv } from '#conductor/http/routing/api-env.ts';
import { answerWritten } from '#conductor/http/routing/define-routes.ts';
import { accessDenied, hasRole } from '#conductor/kernel/caller.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { parseYaml } from '#conductor/sites/documents/yaml/parse-yaml.ts';
import { isMapping } from '#conductor/sites/site.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { limitAtOnce } from '#shared/in-parallel.ts';
import { letGo } from '#shared/peers/let-go.ts';

/** Quotes what PyYAML, and Baton's own reader of documents, would take for something else. */
const forPyYaml = { compat: 'yaml-1.1' } as const;

/** Prefix of all of Airship's paths here: Shipyard's, Deckhand's and Drydock's in one. */
export const airshipPath = '/api/v1.0';

/** `?force`, `?force=true`. */
export const airshipFlag = z.union([z.literal('').transform(() => true), looseBoolean]).optional();

const unused = "Shipyard's client gives it; here it means nothing";

/**
 * Adds the parameters of Shipyard's client to a query (`shipyard_client/api_client/base_client.py`: `verbosity` to
 * every one, `shipyard_api_client.py`: `cleartext-secrets`), taken by all of these paths. Notes alone have a verbosity,
 * and documents secrets.
 */
export function airshipQuery<Shape extends z.ZodRawShape>(shape: Shape) {
  return z.strictObject({
    verbosity: z.string().optional().describe(unused),
    'cleartext-secrets': airshipFlag.describe(unused),
    ...shape,
  });
}

/** Query of paths that answer documents. */
const ClearQuery = {
  'cleartext-secrets': airshipFlag.describe('with what encrypted documents say; for administrators'),
};

export const VersionQuery = airshipQuery({
  ...ClearQuery,
  version: z.string().optional().describe('a role, or a number; default: the buffer, or else the committed revision'),
});

/** `a,b`, or `a` and `b` one after another, as Python's requests send a list. */
export const airshipList = z.union([z.string(), z.array(z.string()).transform((names) => names.join(','))]).optional();

const largestId = 2 ** 31 - 1;

/** A revision's number in a path; 0 stands for "nothing" where it may. */
export const revisionNumber = z
  .string()
  .regex(/^\d{1,10}$/, 'must be the number of a revision')
  .transform(Number)
  .refine((id) => id <= largestId, 'is not a revision: it is too large');

/**
 * Reads the body of a request as text, once: its bytes are let go.
 * @throws AppError `invalid_argument` unless it is UTF-8 that can be stored.
 */
export function readText(c: Context<ApiEnv>): string {
  const bytes = c.get('body');
  if (!isUtf8(bytes)) throw new AppError('invalid_argument', 'body: it must be text in UTF-8');
  const text = bytes.toString('utf8');
  letGo(bytes);
  if (text.includes('\0')) throw new AppError('invalid_argument', "body: the character U+0000 can't be stored");
  return text;
}

/** Documents as YAML, one after another, or as a JSON list for who asks for that. */
export async function answerDocuments(c: Context<ApiEnv>, documents: readonly unknown[], as?: 'yaml') {
  const asJson = as === undefined && c.req.header('accept')?.includes('application/json') === true;
  const parts = await writeInTurns(documents, asJson ? JSON.stringify : (each) => `---\n${stringify(each, forPyYaml)}`);
  const type = asJson ? 'application/json' : yamlType;
  // clients that accept no JSON ask for no schema either
  return answerWritten(c, Documents, asJson ? `[${parts.join(',')}]` : parts.join(''), { 'Content-Type': type });
}

const oneAtATime = limitAtOnce({ most: 1 });

/**
 * Writes each value as text. Ten thousand documents take seconds: whatever else there is to do gets its turn every few
 * milliseconds, and of those who ask for so much at the same time one is served after the other.
 */
export function writeInTurns(documents: readonly unknown[], write: (document: unknown) => string): Promise<string[]> {
  return oneAtATime(async () => {
    const parts: string[] = [];
    let since = performance.now();
    for (const document of documents) {
      parts.push(write(document));
      if (performance.now() - since < 10) continue;
      await new Promise((resolve) => setImmediate(resolve));
      since = performance.now();
    }
    return parts;
  });
}

const yamlType = 'application/x-yaml; charset=utf-8';

export function answerYaml(c: Context<ApiEnv>, text: string): Response {
  return c.body(text, 200, { 'Content-Type': yamlType });
}

/**
 * Returns whether the caller asks for secrets in clear.
 * @throws AppError `forbidden` unless it is an administrator of everything
 */
export function wantsSecrets(
  c: Context<ApiEnv>,
  query: { readonly 'cleartext-secrets'?: boolean | undefined },
): boolean {
  if (query['cleartext-secrets'] !== true) return false;
  const caller = c.get('caller');
  if (hasRole(caller, 'admin') && caller.project === undefined) return true;
  throw accessDenied('baton:site:cleartext_secrets', caller, 'admin');
}

/**
 * Reads a small body in YAML or JSON; none at all is an empty mapping.
 * @throws AppError `invalid_argument` for anything else.
 */
export function readMapping(text: string): JsonObject {
  const wrong = (cause?: unknown): AppError =>
    new AppError('invalid_argument', 'body: it must be a mapping, as JSON or YAML', { cause });
  const value = readYaml(text, wrong) ?? {};
  // what YAML has beyond JSON would not be kept as it is
  const plain = asJson(value, wrong);
  if (!isMapping(plain) || /\\u(0000|d[89a-f])/i.test(JSON.stringify(plain))) throw wrong();
  return plain;
}

function readYaml(text: string, wrong: (cause: unknown) => AppError): unknown {
  try {
    return parseYaml(text);
  } catch (error) {
    throw wrong(error);
  }
}

/** Aliases can make a value that holds itself. */
function asJson(value: unknown, wrong: (cause: unknown) => AppError): unknown {
  try {
    return JSON.parse(JSON.stringify(value)) as unknown;
  } catch (error) {
    throw wrong(error);
  }
}
