import { parseAllDocuments } from 'yaml';
import { listIn, objectIn, textIn } from '#conductor/cli/import/fleet.ts';
import { type Json } from '#conductor/cli/shell/api-client.ts';
import { readInputFile } from '#conductor/cli/shell/input-files.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';

/** Objects of Kubernetes from files, as `kubectl get … -o yaml` prints them. */
export interface Manifests {
  readonly objects: readonly Json[];
  /** Finds the login in a Secret. */
  readonly login: (name: string | undefined, namespace: string) => FoundLogin;
}

/** Login of a BMC as a Secret has it. */
export interface FoundLogin {
  readonly username: string | undefined;
  readonly password: string | undefined;
  /** Reason why it is not whole: `Secret metal3/bmc has no username`. */
  readonly missing: string | undefined;
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
    login: (name, namespace) => readLogin(secrets.get(`${namespace}/${name}`), name, namespace),
  };
}

function readLogin(secret: Json | undefined, name: string | undefined, namespace: string): FoundLogin {
  const title = `Secret ${namespace}/${name}`;
  if (name === undefined) return { username: undefined, password: undefined, missing: 'no Secret is named' };
  if (secret === undefined) return { username: undefined, password: undefined, missing: `${title} is not in it` };
  const reasons: string[] = [];
  const read = (key: string): string | undefined => {
    const plain = textIn(secret, 'stringData', key);
    if (plain !== undefined) return plain;
    const coded = textIn(secret, 'data', key)?.replace(/\s+/g, '');
    if (coded === undefined) {
      reasons.push(`${title} has no ${key}`);
      return undefined;
    }
    if (!base64.test(coded)) {
      reasons.push(`${title}: data.${key} must be base64 (stringData has plain text)`);
      return undefined;
    }
    return Buffer.from(coded, 'base64').toString('utf8').trimEnd();
  };
  const [username, password] = [read('username'), read('password')];
  return { username, password, missing: reasons.length === 0 ? undefined : reasons.join(', ') };
}

/** RFC 4648, whole groups of four. */
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function flatten(document: unknown): Json[] {
  const object = objectIn(document);
  if (textIn(object, 'kind')?.endsWith('List')) return listIn(object, 'items').flatMap(flatten);
  return Object.keys(object).length === 0 ? [] : [object];
}

/** Gives the namespace of an object; `default` where it names none. */
export function namespaceOf(object: Json): string {
  return textIn(object, 'metadata', 'namespace') ?? 'default';
}

/** Makes a key of namespace and name: `metal3/worker-0`. */
export function keyOf(object: Json): string {
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
