import { AppError } from '#shared/errors/app-error.ts';
import { loginNamesOf } from '#shared/oci/reference.ts';

/** A login at a registry, or at the service that gives its tokens. */
export interface RegistryLogin {
  readonly user: string;
  readonly password: string;
}

/**
 * Reads a pull secret: base64 of `user:password`, as `auth` stands in Docker's config.json, or `user:password` itself.
 * @param field for messages; the value never stands in them
 * @throws AppError `invalid_argument`.
 */
export function parsePullSecret(secret: unknown, field: string): RegistryLogin {
  const login = typeof secret === 'string' ? (loginIn(secret.trim()) ?? loginIn(decode(secret.trim()))) : undefined;
  if (login) return login;
  throw new AppError(
    'invalid_argument',
    `${field} must be base64 of user:password, as "auth" of a registry stands in Docker's config.json, or user:password itself`,
  );
}

function loginIn(text: string | undefined): RegistryLogin | undefined {
  const [, user = '', password = ''] = /^([^:\p{Cc}]*):(\P{Cc}+)$/su.exec(text ?? '') ?? [];
  return password === '' ? undefined : { user, password };
}

function decode(text: string): string | undefined {
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  const decoded = bytes.toString('utf8');
  return Buffer.from(decoded, 'utf8').equals(bytes) ? decoded : undefined;
}

/**
 * Finds a registry's login in a file with the form of Docker's config.json: `{"auths": {"registry": {"auth": "…"}}}`.
 * @param text the file
 * @param field for messages: the setting that names the file
 * @returns `undefined` when the file has no entry for it
 * @throws AppError `invalid_argument` for another form, and for an entry that refers to a program or another token.
 */
export function findPullSecret(text: string, registry: string, field: string): RegistryLogin | undefined {
  const { auths } = parseAuthFile(text, field);
  const name = loginNamesOf(registry).find((each) => Object.hasOwn(auths, each));
  if (name === undefined) return undefined;
  const entry = auths[name];
  const about = `${field}: auths["${name}"]`;
  if (typeof entry !== 'object' || entry === null) throw new AppError('invalid_argument', `${about} must be an object`);
  const { auth, username, password } = entry as Readonly<Record<string, unknown>>;
  if (typeof auth === 'string' && auth !== '') return parsePullSecret(auth, `${about}.auth`);
  if (typeof username === 'string' && typeof password === 'string' && password !== '')
    return { user: username, password };
  throw new AppError(
    'invalid_argument',
    `${about} has neither auth nor username and password: logins that a credential helper or an identity token holds are not supported`,
  );
}

/** @throws AppError `invalid_argument`. */
function parseAuthFile(text: string, field: string): { readonly auths: Readonly<Record<string, unknown>> } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    // the parser's own words may repeat what stands in the file
    throw new AppError('invalid_argument', `${field}: the file is not JSON`);
  }
  const auths = typeof parsed === 'object' && parsed !== null ? Reflect.get(parsed, 'auths') : undefined;
  if (typeof auths === 'object' && auths !== null && !Array.isArray(auths))
    return { auths: auths as Record<string, unknown> };
  throw new AppError(
    'invalid_argument',
    `${field}: the file must have the form {"auths": {"registry": {"auth": "…"}}}`,
  );
}
