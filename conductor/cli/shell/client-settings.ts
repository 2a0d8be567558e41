import { readFileSync } from 'node:fs';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { ownUrl } from '#conductor/model/own-url.ts';

/** Where the conductor is, and what this client shows it. */
export interface ClientSettings {
  /** Without a slash behind. */
  readonly url: string;
  /** The `Authorization` header; never printed. */
  readonly authorization: string | undefined;
  /** PEM of the authorities to trust in place of the system's. */
  readonly authorities: string | undefined;
  /** Any certificate will do. */
  readonly insecure: boolean;
}

type Environment = Readonly<Record<string, string | undefined>>;

export const settingsHelp = [
  ['BATON_URL', 'the conductor (default http://127.0.0.1:6385); also OS_ENDPOINT, OS_BAREMETAL_ENDPOINT_OVERRIDE'],
  ['BATON_TOKEN, BATON_TOKEN_FILE', 'an API token, or the file that has it (BATON_TOKEN wins)'],
  ['BATON_USERNAME, BATON_PASSWORD', 'HTTP basic; also OS_USERNAME, OS_PASSWORD with OS_AUTH_TYPE=http_basic'],
  ['BATON_CACERT', 'PEM file of the authority behind the conductor’s certificate; also OS_CACERT'],
  ['BATON_INSECURE', 'true = any certificate will do, as --insecure'],
] as const;

/**
 * Finds the conductor of this host by the settings that it was started with, as the package's `baton` hands them over.
 */
function ownConductor(environment: Environment): string {
  const get = (name: string): string | undefined => environment[name] || undefined;
  return ownUrl({
    publicUrl: get('BATON_PUBLIC_URL'),
    host: get('BATON_HOST') ?? '127.0.0.1',
    port: get('BATON_PORT') ?? 6385,
    hasTls: get('BATON_TLS_CERT_FILE') !== undefined,
  });
}

/**
 * The settings of the command line, from the environment. Of `OS_*` only what can mean nothing else.
 * @throws AppError `invalid_argument` naming the variable; never with a secret
 */
export function readClientSettings(environment: Environment, choice: { readonly insecure: boolean }): ClientSettings {
  const first = (...names: readonly string[]): string | undefined =>
    names.map((name) => environment[name]).find((value) => value !== undefined && value !== '');
  const cacert = first('BATON_CACERT', 'OS_CACERT');
  return {
    url: readUrl(first('BATON_URL', 'OS_ENDPOINT', 'OS_BAREMETAL_ENDPOINT_OVERRIDE') ?? ownConductor(environment)),
    authorization: readAuthorization(environment),
    authorities: cacert === undefined ? undefined : readSecretFile('BATON_CACERT', cacert),
    insecure: choice.insecure || first('BATON_INSECURE') === 'true',
  };
}

function readUrl(text: string): string {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw usageError('BATON_URL: it must be like http://192.0.2.1:6385');
  }
  if (url.username !== '' || url.password !== '') {
    throw usageError('BATON_URL: no credentials here; BATON_USERNAME and BATON_PASSWORD are for them');
  }
  // `baremetal` takes the endpoint with the version behind it too
  return url.href.replace(/\/+$/, '').replace(/\/v1$/, '');
}

function readAuthorization(environment: Environment): string | undefined {
  const get = (name: string): string | undefined => environment[name] || undefined;
  const file = get('BATON_TOKEN_FILE');
  const token = get('BATON_TOKEN') ?? (file === undefined ? undefined : readSecretFile('BATON_TOKEN_FILE', file));
  const user = get('BATON_USERNAME');
  if (token !== undefined && user !== undefined) {
    throw usageError('BATON_TOKEN and BATON_USERNAME: one of them must go');
  }
  if (token !== undefined) return `Bearer ${headerText('BATON_TOKEN', token.trim())}`;
  if (user !== undefined) return basic(user, get('BATON_PASSWORD'), 'BATON_PASSWORD');
  if (get('OS_AUTH_TYPE') !== 'http_basic') return undefined;
  return basic(get('OS_USERNAME') ?? '', get('OS_PASSWORD'), 'OS_PASSWORD');
}

function basic(user: string, password: string | undefined, name: string): string {
  if (password === undefined) throw usageError(`${name}: it must be set beside the user's name`);
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

function headerText(name: string, text: string): string {
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw usageError(`${name}: it must be one word`);
}

function readSecretFile(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw usageError(`${name}: read ${file}`, { cause });
  }
}
