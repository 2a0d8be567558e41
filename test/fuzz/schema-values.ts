import * as fc from '#test/fuzz/fast-check.ts';

/** The parts of JSON Schema that the API's document uses. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Text that has broken somebody's program: databases, paths, scripts, parsers of numbers, templates. */
const hostileTexts = [
  '',
  '\0',
  'a\0b',
  '\ud800',
  '\u202e',
  '../../etc/passwd',
  '__proto__',
  'constructor',
  'sealed:v1:x:AAAA',
  '******',
  '${7*7}',
  "'; drop table nodes; --",
  '-1',
  '1e999',
  '9'.repeat(400),
  'x'.repeat(70_000),
  'http://[',
  'http://169.254.169.254/latest/meta-data/',
  'file:///etc/passwd',
  '(a+)+$',
  '%00',
  '%',
] as const;

const hostileNumbers = [-1, 0, -0, 0.5, 2 ** 31, 2 ** 53, 1e21, 1e308, -1e308] as const;

const deep = (levels: number): unknown => {
  let value: unknown = 0;
  for (let level = 0; level < levels; level += 1) value = level % 2 ? [value] : { a: value };
  return value;
};

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...hostileTexts),
  fc.string({ unit: 'binary', maxLength: 20 }),
);

/** Values that fit no schema but by chance. */
const anything: fc.Arbitrary<unknown> = fc.oneof(
  hostileText,
  fc.constantFrom<unknown>(...hostileNumbers, null, true, [], {}, [[]], deep(30), deep(3000)),
  fc.dictionary(hostileText, hostileText, { maxKeys: 3, noNullPrototype: true }),
  fc.array(hostileText, { maxLength: 4 }),
);

/** Mostly what the schema describes, so that it gets past validation, with something else here and there. */
export function valuesOf(
  schema: Schema,
  known: (name: string) => fc.Arbitrary<string>,
  options: { readonly name: string; readonly resolve: (ref: string) => Schema; readonly depth?: number },
): fc.Arbitrary<unknown> {
  const { name, depth = 0 } = options;
  const inner = (within: Schema, key = name): fc.Arbitrary<unknown> =>
    valuesOf(within, known, { ...options, name: key, depth: depth + 1 });
  const fitting = (): fc.Arbitrary<unknown> => {
    if (depth > 6) return fc.constant(null);
    if (schema.$ref !== undefined) return inner(options.resolve(schema.$ref));
    if (schema.anyOf) return fc.oneof(...schema.anyOf.map((each) => inner(each)));
    if (schema.enum) return fc.constantFrom(...schema.enum);
    const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
    const fits = types.map((type) => fitsType(type, schema, inner, known(name)));
    return fits.length === 0 ? anything : fc.oneof(...fits);
  };
  return fc.oneof({ weight: 12, arbitrary: fitting() }, { weight: 1, arbitrary: anything });
}

function fitsType(
  type: string,
  schema: Schema,
  inner: (within: Schema, key?: string) => fc.Arbitrary<unknown>,
  known: fc.Arbitrary<string>,
): fc.Arbitrary<unknown> {
  switch (type) {
    case 'object': {
      const fields = Object.entries(schema.properties ?? {}).map(([key, each]) => [key, inner(each, key)] as const);
      const record = fc.record(Object.fromEntries(fields), {
        requiredKeys: [...(schema.required ?? [])],
        noNullPrototype: true,
      });
      return fields.length > 0 ? record : fc.dictionary(hostileText, anything, { maxKeys: 3, noNullPrototype: true });
    }
    case 'array':
      return fc.array(inner(schema.items ?? {}), { maxLength: 4 });
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    case 'integer':
    case 'number': {
      const { minimum = -10, maximum = 2 ** 40 } = schema;
      return fc.oneof(fc.constantFrom(minimum, maximum), fc.integer({ min: minimum, max: Math.max(minimum, maximum) }));
    }
    default:
      return textOf(schema, known);
  }
}

function textOf({ pattern, format }: Schema, known: fc.Arbitrary<string>): fc.Arbitrary<string> {
  if (format === 'uuid') return fc.oneof(fc.uuid(), known);
  if (format === 'date-time') return fc.date({ noInvalidDate: true }).map((date) => date.toISOString());
  // a flag behind it, `/i`, is zod's way to write one
  const shaped =
    pattern === undefined ? fc.string({ maxLength: 12 }) : fc.stringMatching(new RegExp(pattern.replace(/\/i$/, '')));
  return fc.oneof(known, shaped, hostileText);
}
