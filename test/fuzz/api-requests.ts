import * as fc from '#test/fuzz/fast-check.ts';
import { hostileText, type Schema, valuesOf } from '#test/fuzz/schema-values.ts';

interface Parameter {
  readonly in?: string;
  readonly name: string;
  readonly schema?: Schema;
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
}

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

export interface FuzzedRequest {
  /** `GET /v1/nodes/{node}`: which operation it was made of. */
  readonly operation: string;
  readonly method: string;
  /** With query. */
  readonly path: string;
  readonly version: string;
  readonly body?: { readonly type: string; readonly text: string };
}

const versions = ['1.1', '1.11', '1.38', '1.72', '1.96', 'latest', '1.9999', 'x'];
const nothing: fc.Arbitrary<undefined> = fc.constant(undefined);

/**
 * Requests of one operation of the API's document: parameters and body mostly as it describes them, and some as nobody does.
 * @param known names of what is there, by parameter or field
 */
export function requestsOf(
  document: ApiDocument,
  { path, method }: { readonly path: string; readonly method: string },
  known: (name: string) => fc.Arbitrary<string>,
): fc.Arbitrary<FuzzedRequest> {
  const operation = document.paths[path]?.[method];
  if (!operation) throw new Error(`${method} ${path} is not in the document`);
  const resolve = (ref: string): Schema => document.components.schemas[ref.split('/').at(-1) ?? ''] ?? {};
  const values = (schema: Schema, name: string): fc.Arbitrary<unknown> => valuesOf(schema, known, { name, resolve });
  const queries = (operation.parameters ?? []).filter((each) => each.in === 'query');
  const names = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name = '']) => name);
  return fc.record(
    {
      operation: fc.constant(`${method.toUpperCase()} ${path}`),
      method: fc.constant(method.toUpperCase()),
      version: fc.constantFrom('1.96', '1.96', '1.96', ...versions),
      path: fc
        .tuple(
          fc.tuple(
            ...names.map((name) =>
              fc.oneof({ weight: 4, arbitrary: known(name) }, { weight: 1, arbitrary: hostileText }),
            ),
          ),
          fc.record(Object.fromEntries(queries.map(({ name, schema }) => [name, values(schema ?? {}, name)])), {
            requiredKeys: [],
            noNullPrototype: true,
          }),
          fc.option(hostileText, { nil: undefined, freq: 20 }),
        )
        .map(([given, query, stray]) =>
          pathWith(path, given, { ...query, ...(stray === undefined ? {} : { [stray]: 'x' }) }),
        ),
      body: bodiesOf(operation, values),
    },
    { requiredKeys: ['operation', 'method', 'version', 'path'] },
  ) as fc.Arbitrary<FuzzedRequest>;
}

function pathWith(path: string, given: readonly string[], query: Readonly<Record<string, unknown>>): string {
  const rest = [...given];
  const filled = path.replaceAll(/\{[^}]+\}/g, () => encoded(rest.shift() ?? ''));
  const pairs = Object.entries(query).map(([name, value]) => `${encoded(name)}=${encoded(textOf(value))}`);
  return pairs.length === 0 ? filled : `${filled}?${pairs.join('&')}`;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** A lone surrogate has no encoding; of a path longer than any server takes, no server is asked. */
function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed().slice(0, 4000));
}

function bodiesOf(
  { requestBody }: Operation,
  values: (schema: Schema, name: string) => fc.Arbitrary<unknown>,
): fc.Arbitrary<FuzzedRequest['body']> {
  const kinds = Object.entries(requestBody?.content ?? {}).map(([type, { schema }]) => {
    const json = values(schema, '').map((value) => ({ type, text: JSON.stringify(value) }));
    return fc.oneof({ weight: 8, arbitrary: json }, { weight: 1, arbitrary: json.chain(damaged) });
  });
  return kinds.length === 0 ? nothing : fc.oneof(...kinds, nothing);
}

/** A piece cut out or put in: what is not JSON, or another one. */
function damaged({
  type,
  text,
}: {
  readonly type: string;
  readonly text: string;
}): fc.Arbitrary<FuzzedRequest['body']> {
  const inserted = fc.constantFrom(
    '',
    '[',
    ']',
    '{',
    '"',
    '\\u0000',
    '\\ud800',
    '1e999',
    ',',
    '<<: *x\n',
    '&a [*a]',
    '\0',
    '['.repeat(50_000),
  );
  return fc
    .tuple(fc.nat(text.length), fc.nat(5), inserted)
    .map(([at, cut, piece]) => ({ type, text: text.slice(0, at) + piece + text.slice(at + cut) }));
}
