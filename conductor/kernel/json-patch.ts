import { applyPatch } from 'rfc6902';
import { z } from 'zod';
import { mostListed } from '#conductor/api/values.ts';
import { boundedList } from '#shared/bounded-list.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { firstIssues } from '#shared/errors/describe-issues.ts';

/**
 * Ironic's subset of RFC 6902 (ironic-api.md §1.5): no test, move or copy. A `~` or `/` in a document's key is written
 * `~0` or `~1`, since microversion 1.98 (`requirePatch`).
 */
export const JsonPatch = boundedList(
  z.array(
    z.strictObject({
      op: z.enum(['add', 'replace', 'remove'], { error: 'must be add, replace or remove' }),
      path: z.string().regex(/^(\/([\w-]|~[01])+)+$/, "does not match '^(/([\\w-]|~[01])+)+$'"),
      value: z.unknown().optional(),
    }),
    { error: 'must be a JSON array of operations' },
  ),
  mostListed,
);
export type JsonPatch = z.infer<typeof JsonPatch>;

/** Lists the roots of a patch's paths: `extra` of `/extra/a/b`. */
export function patchRoots(patch: JsonPatch): string[] {
  return [...new Set(patch.map((operation) => operation.path.split('/')[1] ?? ''))];
}

/**
 * Returns the document after the patch; the given one is left as it is.
 * @throws AppError `invalid_argument` naming the first operation that can't be applied, or a root that may not be
 * changed with those that may.
 */
export function applyJsonPatch(
  document: Readonly<Record<string, unknown>>,
  patch: JsonPatch,
  writable: readonly string[],
): Record<string, unknown> {
  for (const root of patchRoots(patch)) {
    if (!writable.includes(root)) {
      throw new AppError(
        'invalid_argument',
        `Cannot patch /${root}. Only the following can be updated: ${[...writable].sort().join(', ')}`,
      );
    }
  }
  const result = structuredClone(document) as Record<string, unknown>;
  for (const operation of patch) {
    const { op, path } = operation;
    const needsValue = op !== 'remove';
    if (needsValue && operation.value === undefined) throw refused(operation, 'value is missing');
    const [fault] = applyPatch(result, [needsValue ? { op, path, value: operation.value } : { op: 'remove', path }]);
    if (fault) throw refused(operation, explain(op, path));
  }
  return result;
}

/**
 * The document after the patch, checked and normalised by the schema whose keys are the fields that may be written.
 * @throws AppError `invalid_argument` naming the operation or the field.
 */
export function patchDocument<Schema extends z.ZodObject>(
  document: Readonly<Record<string, unknown>>,
  patch: JsonPatch,
  schema: Schema,
): z.infer<Schema> {
  return parsePatched(applyJsonPatch(document, patch, Object.keys(schema.shape)), schema);
}

/** @throws AppError `invalid_argument` naming each field of a patched document that its schema refuses. */
export function parsePatched<Schema extends z.ZodType>(document: unknown, schema: Schema): z.infer<Schema> {
  const parsed = schema.safeParse(document);
  if (parsed.success) return parsed.data;
  const faults = firstIssues(parsed.error.issues, (issue) => `/${issue.path.join('/')}: ${issue.message}`);
  throw new AppError('invalid_argument', `Schema error for patch: ${faults.join('; ')}`);
}

function refused(operation: JsonPatch[number], reason: string): AppError {
  // the value is not repeated: it may be a password
  return new AppError(
    'invalid_argument',
    `Couldn't apply patch '${operation.op} ${operation.path}'. Reason: ${reason}`,
  );
}

function explain(op: string, path: string): string {
  if (op === 'add') return 'the object or list to add it to does not exist';
  return `can't ${op} a non-existent object '${path.split('/').at(-1)}'`;
}
