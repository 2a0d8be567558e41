import { rowOfPath } from '#conductor/http/limit-body.ts';

export interface Door {
  readonly method: string;
  /** With `n1` in place of each name. */
  readonly path: string;
  /** The largest that its row allows. */
  readonly bodies: Readonly<Record<string, string>>;
  /** Bodies above its row, each with the words of the row that refuse it. */
  readonly tooMuch: readonly { readonly what: string; readonly body: string; readonly refusal: string }[];
}

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly requestBody?: unknown }>>>>;
}

/** Every operation of the API's own description that changes something, with bodies as its row has them. */
export function doorsOf({ paths }: ApiDocument): readonly Door[] {
  // what is deleted is there no more
  return Object.entries(paths)
    .flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => method !== 'get')
        .map((method) => ({
          method: method.toUpperCase(),
          path: path.replaceAll(/\{[^}]+\}/g, 'n1'),
          bodies: largestBodies(path),
          tooMuch: bodiesAbove(path),
        })),
    )
    .sort((one, other) => Number(one.method === 'DELETE') - Number(other.method === 'DELETE'));
}

/** Puts it where a report has its list of cards: what stands elsewhere is looked at less. */
function placeIn(path: string): (text: string) => string {
  return (text) => (path === '/v1/continue_inspection' ? `{"inventory":{"interfaces":${text}}}` : text);
}

function largestBodies(path: string): Readonly<Record<string, string>> {
  const { bytes, depth, values, isYaml } = rowOfPath(path);
  // parsed apart, whatever it is
  const most = isYaml === true ? 200_000 : values - 10;
  const names = Array.from({ length: Math.floor(most / 2) }, (_, index) => `"key${index}":1`);
  const within = placeIn(path);
  // what a provision request carries, or a report: longer ones are of one kind with them
  const long = Math.min(bytes, 16 * 1024 ** 2) - 100;
  return {
    'as many values as it may have': within(`[${'1,'.repeat(most - 2)}1]`),
    'as many objects': within(`[${'{},'.repeat(Math.floor(most / 2) - 2)}{}]`),
    'as many operations of a patch': `[${'{"op":"add","path":"/extra/a","value":1},'.repeat(Math.floor(most / 7) - 2)}{"op":"test"}]`,
    'as many unknown fields': `{${names.join(',')}}`,
    'as deep as it may be': within(`${'['.repeat(depth - 3)}${']'.repeat(depth - 3)}`),
    'one long text': `{"name":"${'n'.repeat(long)}"}`,
    'one long name': `{"${'n'.repeat(long)}":1}`,
  };
}

function bodiesAbove(path: string): Door['tooMuch'] {
  const { bytes, depth, values, isYaml } = rowOfPath(path);
  const within = placeIn(path);
  const longer = {
    what: 'more bytes',
    body: `{"name":"${'n'.repeat(bytes)}"}`,
    refusal: `The body is larger than ${bytes} bytes.`,
  };
  if (isYaml === true) return [longer];
  return [
    ...(bytes > 16 * 1024 ** 2 ? [] : [longer]),
    {
      what: 'many more values',
      body: within(`[${'1,'.repeat(Math.min(1_000_000, Math.floor(bytes / 2) - 100))}1]`),
      refusal: `the body has more than ${values} values`,
    },
    {
      what: 'one value more',
      body: within(`[${'1,'.repeat(values)}1]`),
      refusal: `the body has more than ${values} values`,
    },
    {
      what: 'deeper than it may be',
      body: within('['.repeat(Math.min(500_000, bytes - 100))),
      refusal: `the body has JSON deeper than ${depth}`,
    },
  ].filter(({ body, what }) => what === 'more bytes' || body.length <= bytes);
}
