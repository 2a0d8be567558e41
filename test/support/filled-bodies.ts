import type { BodyRow } from '#conductor/http/routing/body-rows.ts';

/** JSON Schema as far as the API's description uses it. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minimum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
}

export type Schemas = Readonly<Record<string, Schema>>;

/** Content of a list or of an object with any keys; `fit` = as its schema has it. */
const fillings = { fit: 'that fit', objects: 'that are empty objects', numbers: 'that are numbers' } as const;

/** Lists and objects of a body that may have any number of members, each with a way to write the body around it. */
interface Opening {
  readonly place: string;
  readonly kind: 'list' | 'object';
  readonly item: Schema;
  readonly around: (text: string) => string;
}

/**
 * Makes bodies that fill one list or open object of a route's schema with as many members as its row allows: a body that
 * its schema refuses at its first word says nothing of the cost of what stands deeper.
 */
export function filledBodies(schema: Schema, schemas: Schemas, row: BodyRow): Readonly<Record<string, () => string>> {
  const bodies: Record<string, () => string> = {};
  for (const opening of openingsOf(schema, schemas, { place: 'body', around: (text) => text, depth: 0 })) {
    const items = { fit: sampleText(opening.item, schemas), objects: '{}', numbers: '1' };
    for (const [name, words] of Object.entries(fillings) as [keyof typeof fillings, string][]) {
      bodies[`as many members of ${opening.place} ${words}`] = () => fill(opening, items[name], row);
    }
  }
  return bodies;
}

/** A rest for what stands around it. */
const sparedValues = 100;
const sparedBytes = 4_096;

function fill({ kind, around }: Opening, item: string, row: BodyRow): string {
  const member = (index: number): string => (kind === 'list' ? item : `"key${index}":${item}`);
  const valuesEach = (member(0).match(/[[{:,]/g)?.length ?? 0) + 1;
  const bytesEach = member(99_999).length + 1;
  const count = Math.floor(Math.min((row.values - sparedValues) / valuesEach, (row.bytes - sparedBytes) / bytesEach));
  const members = Array.from({ length: Math.max(1, count) }, (_, index) => member(index)).join(',');
  return around(kind === 'list' ? `[${members}]` : `{${members}}`);
}

/** No schema of a body is deeper, but those that lead to themselves. */
const deepest = 5;

interface Around {
  readonly place: string;
  readonly around: (text: string) => string;
  readonly depth: number;
}

function openingsOf(given: Schema, schemas: Schemas, { place, around, depth }: Around): Opening[] {
  if (depth > deepest) return [];
  const schema = resolve(given, schemas);
  const choices = choicesOf(schema);
  if (choices.length > 0)
    return choices.flatMap((each) => openingsOf(each, schemas, { place, around, depth: depth + 1 }));
  const found: Opening[] = [];
  if (isOf(schema, 'array')) {
    const item = schema.items ?? {};
    const inItem = { place: `${place}[]`, around: (text: string) => around(`[${text}]`), depth: depth + 1 };
    found.push({ place, kind: 'list', item, around }, ...openingsOf(item, schemas, inItem));
  }
  if (isOf(schema, 'object')) {
    const { properties = {}, additionalProperties: open } = schema;
    if (open === true || (typeof open === 'object' && open !== null)) {
      found.push({ place, kind: 'object', item: open === true ? {} : open, around });
    }
    for (const [key, member] of Object.entries(properties)) {
      const write = (text: string): string => around(objectText(schema, schemas, { key, text }));
      found.push(...openingsOf(member, schemas, { place: `${place}.${key}`, around: write, depth: depth + 1 }));
    }
  }
  return found;
}

/** The smallest object of that schema, with this member. */
function objectText(
  schema: Schema,
  schemas: Schemas,
  member?: { readonly key: string; readonly text: string },
): string {
  const { properties = {}, required = [] } = schema;
  const others = required
    .filter((key) => key !== member?.key)
    .map((key) => `${JSON.stringify(key)}:${sampleText(properties[key] ?? {}, schemas)}`);
  return `{${[...others, ...(member ? [`${JSON.stringify(member.key)}:${member.text}`] : [])].join(',')}}`;
}

/** A small value of that schema; of texts with a pattern one that may not fit it. */
function sampleText(given: Schema, schemas: Schemas, depth = 0): string {
  const schema = resolve(given, schemas);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return JSON.stringify(schema.enum[0]);
  const [choice] = choicesOf(schema);
  if (choice && depth <= deepest) return sampleText(choice, schemas, depth + 1);
  if (isOf(schema, 'array')) return '[]';
  if (isOf(schema, 'object')) return depth > deepest ? '{}' : objectText(schema, schemas);
  if (isOf(schema, 'integer') || isOf(schema, 'number')) return String(schema.minimum ?? 1);
  if (isOf(schema, 'boolean')) return 'true';
  if (schema.format === 'uuid') return '"00000000-0000-4000-8000-000000000000"';
  return '"a"';
}

function choicesOf({ anyOf = [], oneOf = [], allOf = [] }: Schema): readonly Schema[] {
  return [...anyOf, ...oneOf, ...allOf];
}

function isOf({ type }: Schema, name: string): boolean {
  return Array.isArray(type) ? type.includes(name) : type === name;
}

function resolve(schema: Schema, schemas: Schemas): Schema {
  const name = schema.$ref?.split('/').at(-1);
  return name === undefined ? schema : (schemas[name] ?? {});
}
