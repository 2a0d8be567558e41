import { isSecretPlace } from '#conductor/model/secret-names.ts';
import { maskUrlLogins } from '#shared/url-logins.ts';

export interface FoundSecret {
  readonly path: readonly (string | number)[];
  /** `login`: of a URL within the text. */
  readonly kind: 'secret' | 'login';
}

/**
 * Where in a document secrets stand in clear: for what is shown to whoever may read it, and so must have none. What says
 * nothing (`null`, an empty text, true or false) is no secret. Pure.
 * @param options.most stops after so many
 * @param options.isFine what may stand there all the same, and says nothing
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
