import { type BodyRow, bodyRows } from '#conductor/http/routing/body-rows.ts';
import { bodyLimitsKey } from '#conductor/http/routing/define-routes.ts';
import { filledBodies, type Schema, type Schemas } from '#test/support/filled-bodies.ts';

export interface Door {
  readonly method: string;
  /** With `n1` in place of each name. */
  readonly path: string;
  /** The largest that its row allows; a GET has one without a body. Made when they are sent: some have 48 MiB. */
  readonly bodies: Readonly<Record<string, () => string>>;
  /** Bodies above its row, each with the words of the row that refuse it. */
  readonly tooMuch: Readonly<Record<string, { readonly body: () => string; readonly refusal: string }>>;
}

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: Schema }>> };
  readonly [bodyLimitsKey]?: BodyRow;
}

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components?: { readonly schemas?: Schemas };
}

/** Every operation of the API's own description, the machines' too, with bodies as its row has them. */
export function doorsOf({ paths, components }: ApiDocument): readonly Door[] {
  // what is deleted is there no more
  return Object.entries(paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { requestBody, [bodyLimitsKey]: row = bodyRows.none }]): Door => {
        const door = { method: method.toUpperCase(), path: path.replaceAll(/\{[^}]+\}/g, 'n1') };
        if (method === 'get') return { ...door, bodies: { nothing: () => '' }, tooMuch: {} };
        const schema = requestBody?.content['application/json']?.schema;
        const filled = schema ? filledBodies(schema, components?.schemas ?? {}, row) : {};
        return { ...door, bodies: { ...largestBodies(path, row), ...filled }, tooMuch: bodiesAbove(path, row) };
      }),
    )
    .sort((one, other) => Number(one.method === 'DELETE') - Number(other.method === 'DELETE'));
}

/** Puts it where a report has its list of cards: what stands elsewhere is looked at less. */
function placeIn(path: string): (text: string) => string {
  return (text) => (path === '/v1/continue_inspection' ? `{"inventory":{"interfaces":${text}}}` : text);
}

function largestBodies(path: string, { bytes, depth, values, isText }: BodyRow): Door['bodies'] {
  // parsed apart, whatever it is
  const most = isText === true ? Math.min(200_000, Math.floor(bytes / 5)) : Math.min(values - 10, bytes / 5);
  const within = placeIn(path);
  const times = (text: string, share: number): string => text.repeat(Math.floor(most / share) - 2);
  const patch = '{"op":"add","path":"/extra/a","value":1},';
  const long = bytes - 100;
  return {
    'as many values as it may have': () => within(`[${times('1,', 1)}1]`),
    'as many objects': () => within(`[${times('{},', 2)}{}]`),
    'as many operations of a patch': () =>
      `[${patch.repeat(Math.floor(Math.min(most / 7, bytes / patch.length)) - 2)}{"op":"test"}]`,
    'as many unknown fields': () =>
      `{${Array.from({ length: Math.min(Math.floor(most / 2), Math.floor(bytes / 14)) }, (_, index) => `"key${index}":1`).join(',')}}`,
    'as deep as it may be': () => within(`${'['.repeat(depth - 3)}${']'.repeat(depth - 3)}`),
    'one long text': () => `{"name":"${'n'.repeat(long)}"}`,
    'one long name': () => `{"${'n'.repeat(long)}":1}`,
    'a long text beyond ASCII': () => `{"name":"${'n'.repeat(long - 10)}\u20ac"}`,
    'many texts of escapes': () => {
      const text = `"${String.raw`\u0041`.repeat(150)}",`;
      return within(`[${text.repeat(Math.floor(Math.min(most, bytes / text.length)) - 2)}""]`);
    },
    'a long text of escapes': () => `{"name":"${String.raw`\n`.repeat(long / 2)}"}`,
  };
}

function bodiesAbove(path: string, { bytes, depth, values, isText }: BodyRow): Door['tooMuch'] {
  const within = placeIn(path);
  const longer = { body: () => `{"name":"${'n'.repeat(bytes)}"}`, refusal: `The body is larger than ${bytes} bytes.` };
  if (isText === true) return { 'more bytes': longer };
  const moreValues = (count: number) => ({
    body: () => within(`[${'1,'.repeat(count)}1]`),
    refusal: `the body has more than ${values} values`,
  });
  return {
    'more bytes': longer,
    'one value more': moreValues(values),
    'many more values': moreValues(Math.min(8_000_000, Math.floor(bytes / 2) - 100)),
    'deeper than it may be': {
      body: () => within('['.repeat(Math.min(500_000, bytes - 100))),
      refusal: `the body has JSON deeper than ${depth}`,
    },
  };
}
