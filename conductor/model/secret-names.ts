import { maskUrlLogins } from '#shared/url-logins.ts';

/** THE rule by which values are secret: they are sealed where they are stored, and `******` wherever they are shown. */

/**
 * Keys of documents and names of BIOS settings, those of Ironic's SNMP and IPMI drivers among them. `image_url` is a temporary
 * URL, which opens the image by itself; `user_data` holds what its writer likes.
 */
const secretName =
  /password|passwd|passphrase|pwd|token|secret|credential|authorization|private_key|api_?key|access_?key|(auth|priv|kg)_?key|(^|_)community(_|$)|configdrive|^user_data$|^image_url$/i;

/** Lists of which each entry holds a secret: files that are put on the disk, keys and passwords among them. */
const fileLists = /^(inject_)?files$/;

export function isSecretName(name: string): boolean {
  return secretName.test(name);
}

/** The place of a value in a document. */
export interface Place {
  /** `driver_info.redfish_password`, `steps[].args.settings[].value`: lists without their indices. */
  readonly path: string;
  /** The key that holds it; of a list's entry that of the list. */
  readonly key: string;
  readonly within: Readonly<Record<string, unknown>>;
  /** The key of the list whose entry that object is. */
  readonly list: string | undefined;
}

/**
 * Returns whether the whole value at this place is secret.
 * @param secretSettings BIOS settings that are known to be passwords, whatever their names
 */
export function isSecretPlace(
  { key, within, list }: Pick<Place, 'key' | 'within' | 'list'>,
  secretSettings?: ReadonlySet<string>,
): boolean {
  if (secretName.test(key)) return true;
  if (list === undefined) return false;
  if (key === 'content') return fileLists.test(list);
  if (key !== 'value' || list !== 'settings') return false;
  const { name } = within;
  return typeof name === 'string' && (secretName.test(name) || secretSettings?.has(name) === true);
}

/**
 * Maps each value of a document, outermost first. The result of `change` is not mapped further; where it is `undefined` for
 * an object or list, the values inside are mapped.
 */
export function mapDocument(
  document: Readonly<Record<string, unknown>>,
  path: string,
  change: (value: unknown, place: Place) => unknown,
): Record<string, unknown> {
  return mapObject(document, path, undefined, change);
}

function mapObject(
  object: object,
  path: string,
  list: string | undefined,
  change: (value: unknown, place: Place) => unknown,
): Record<string, unknown> {
  const within = object as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(within).map(([key, value]) => [
      key,
      mapValue(value, { path: path === '' ? key : `${path}.${key}`, key, within, list }, change),
    ]),
  );
}

function mapValue(value: unknown, place: Place, change: (value: unknown, place: Place) => unknown): unknown {
  const changed = change(value, place);
  if (changed !== undefined || typeof value !== 'object' || value === null) return changed;
  if (!Array.isArray(value)) return mapObject(value, place.path, undefined, change);
  const path = `${place.path}[]`;
  return value.map((entry: unknown) =>
    typeof entry === 'object' && entry !== null && !Array.isArray(entry)
      ? mapObject(entry, path, place.key, change)
      : mapValue(entry, { ...place, path }, change),
  );
}

interface FoundSecret {
  readonly path: readonly (string | number)[];
  /** `login`: of a URL within the text. */
  readonly kind: 'secret' | 'login';
}

/**
 * Finds the places at which secrets stand in clear in a document that is shown to its readers, and so must have none. A
 * value without content (`null`, an empty text, true or false) is no secret. Pure.
 * @param options.most how many at most
 * @param options.isFine recognizes values that may stand there all the same
 */
export function findSecrets(
  document: Readonly<Record<string, unknown>>,
  {
    most = 20,
    isFine = () => false,
  }: { readonly most?: number; readonly isFine?: (path: FoundSecret['path'], value: unknown) => boolean } = {},
): FoundSecret[] {
  const found: FoundSecret[] = [];
  lookInto(document, { path: [], list: undefined }, (secret, value) => {
    if (!isFine(secret.path, value)) found.push(secret);
    return found.length < most;
  });
  return found;
}

type Report = (secret: FoundSecret, value: unknown) => boolean;

/** @returns whether to go on */
function lookInto(
  within: Readonly<Record<string, unknown>>,
  { path, list }: { readonly path: readonly (string | number)[]; readonly list: string | undefined },
  report: Report,
): boolean {
  return Object.entries(within).every(([key, value]) => {
    const at = [...path, key];
    if (isSecretPlace({ key, within, list }) && saysSomething(value))
      return report({ path: at, kind: 'secret' }, value);
    return lookAt(value, at, key, report);
  });
}

function lookAt(value: unknown, path: readonly (string | number)[], key: string, report: Report): boolean {
  if (typeof value === 'string') return maskUrlLogins(value) === value || report({ path, kind: 'login' }, value);
  if (typeof value !== 'object' || value === null) return true;
  if (!Array.isArray(value)) return lookInto(value as Record<string, unknown>, { path, list: undefined }, report);
  return value.every((entry: unknown, index) => {
    const at = [...path, index];
    const isObject = typeof entry === 'object' && entry !== null && !Array.isArray(entry);
    return isObject
      ? lookInto(entry as Record<string, unknown>, { path: at, list: key }, report)
      : lookAt(entry, at, key, report);
  });
}

function saysSomething(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return value !== null && value !== undefined && value !== '' && typeof value !== 'boolean';
}
