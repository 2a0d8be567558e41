import { parseAllDocuments } from 'yaml';
import { listIn, objectIn, textIn } from '#conductor/cli/import/fleet.ts';
import { type Json } from '#conductor/cli/shell/api-client.ts';
import { usageError } from '#conductor/cli/shell/command.ts';
import { readInputFile } from '#conductor/cli/shell/input-files.ts';

/** Objects of Kubernetes from files, as `kubectl get … -o yaml` prints them. */
export interface Manifests {
  readonly objects: readonly Json[];
  /** Finds the login in a Secret; empty where there is none. */
  readonly login: (
    name: string | undefined,
    namespace: string,
  ) => { readonly username?: string; readonly password?: string };
}

/**
 * Reads objects from YAML or JSON, several documents and `List`s too.
 * @param files `-` = standard input
 * @throws AppError `invalid_argument` naming the file
 */
export async function readManifests(files: readonly string[]): Promise<Manifests> {
  const objects: Json[] = [];
  for (const file of files) {
    const documents = parseAllDocuments(await readInputFile('FILE', file));
    const [fault] = Array.isArray(documents) ? documents.flatMap(({ errors }) => errors) : [];
    if (fault) throw usageError(`${file}: it must be JSON or YAML`, { cause: fault });
    for (const document of documents as { toJS(): unknown }[]) objects.push(...flatten(document.toJS()));
  }
  const secrets = new Map(objects.filter(({ kind }) => kind === 'Secret').map((each) => [keyOf(each), each]));
  return {
    objects,
    login: (name, namespace) => {
      const secret = name === undefined ? undefined : secrets.get(`${namespace}/${name}`);
      const read = (key: string): string | undefined => {
        const coded = textIn(secret, 'data', key);
        return textIn(secret, 'stringData', key) ?? (coded && Buffer.from(coded, 'base64').toString('utf8').trimEnd());
      };
      const [username, password] = [read('username'), read('password')];
      return { ...(username === undefined ? {} : { username }), ...(password === undefined ? {} : { password }) };
    },
  };
}

function flatten(document: unknown): Json[] {
  const object = objectIn(document);
  if (textIn(object, 'kind')?.endsWith('List')) return listIn(object, 'items').flatMap(flatten);
  return Object.keys(object).length === 0 ? [] : [object];
}

/** Gives the namespace of an object; `default` where it names none. */
export function namespaceOf(object: Json): string {
  return textIn(object, 'metadata', 'namespace') ?? 'default';
}

function keyOf(object: Json): string {
  return `${namespaceOf(object)}/${textIn(object, 'metadata', 'name') ?? ''}`;
}

/** Names objects by `metadata.name`, and by namespace too where two have one name. Pure. */
export function namesOf(objects: readonly Json[]): string[] {
  const plain = objects.map((object) => textIn(object, 'metadata', 'name') ?? '');
  return objects.map((object, index) => {
    const name = plain[index] ?? '';
    return plain.indexOf(name) === plain.lastIndexOf(name) ? name : `${namespaceOf(object)}-${name}`;
  });
}
