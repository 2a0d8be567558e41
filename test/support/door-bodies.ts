import { rowOfPath } from '#conductor/http/limit-body.ts';

export interface Door {
  readonly method: string;
  /** With `n1` in place of each name. */
  readonly path: string;
  readonly bodies: Readonly<Record<string, string>>;
}

export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly requestBody?: unknown }>>>>;
}

/** Every operation of the API's own description that changes something, with the largest bodies that its row allows. */
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
        })),
    )
    .sort((one, other) => Number(one.method === 'DELETE') - Number(other.method === 'DELETE'));
}

function largestBodies(path: string): Readonly<Record<string, string>> {
  const { bytes, depth, values, isYaml } = rowOfPath(path);
  // parsed apart, whatever it is
  const most = isYaml === true ? 200_000 : values - 10;
  const names = Array.from({ length: Math.floor(most / 2) }, (_, index) => `"key${index}":1`);
  const inventory = path === '/v1/continue_inspection';
  const within = (text: string): string => (inventory ? `{"inventory":{"interfaces":${text}}}` : text);
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
    'more values than it may have': `[${'1,'.repeat(Math.min(1_000_000, Math.floor(bytes / 2) - 10))}1]`,
    'deeper than it may be': '['.repeat(Math.min(500_000, bytes - 10)),
  };
}
