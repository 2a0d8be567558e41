import type { JsonObject } from '#conductor/model/json-object.ts';
import { findSecrets } from '#conductor/model/secret-names.ts';
import type { SiteFault } from '#conductor/model/site/site-report.ts';
import { isMapping, siteDocument } from '#conductor/sites/site.ts';
import { mask } from '#shared/secret-words.ts';

/** Where in the text something stands: a path → `line 17, column 3`. */
export type Locate = (path: readonly (string | number)[]) => string;

/** Schemas that Baton acts on; the rest of a site's documents is for others. */
export const usedSchemas: ReadonlySet<string> = new Set([
  'shipyard/DeploymentStrategy/v1',
  'shipyard/DeploymentConfiguration/v1',
  'drydock/BaremetalNode/v1',
  'drydock/HostProfile/v1',
  'drydock/HardwareProfile/v1',
  'drydock/Network/v1',
  'drydock/NetworkLink/v1',
  'promenade/EtcdClusters/v1',
  'baton/Images/v1',
  'baton/Plugin/v1',
]);

/**
 * Finds what keeps a document from being stored at all: nobody could know what it is, or it has a password in it that
 * all would see. Pure.
 */
export function uploadFaults(document: JsonObject, locate: Locate): SiteFault[] {
  const { schema, name, metadata, data } = siteDocument('', document);
  const faults: SiteFault[] = [];
  const refuse = (code: string, path: readonly (string | number)[], message: string): void => {
    faults.push({
      level: 'Error',
      name: code,
      message: `${locate(path)}: ${path.join('.')} ${message}`,
      ...(schema && name ? { document: { schema, name } } : {}),
      path: path.join('.'),
    });
  };
  if (schema === '') refuse('InvalidDocument', ['schema'], 'must be text, such as drydock/BaremetalNode/v1');
  if (document['metadata'] === undefined) refuse('InvalidDocument', ['metadata'], 'is missing: it has the name');
  else if (!isMapping(document['metadata'])) refuse('InvalidDocument', ['metadata'], 'must be a mapping with a name');
  else if (name === '') refuse('InvalidDocument', ['metadata', 'name'], nameRule(metadata['name']));
  else if (/\p{Cc}/u.test(name)) {
    refuse('InvalidDocument', ['metadata', 'name'], 'must have no control characters');
  }
  if (faults.length > 0) return faults;
  const policy = metadata['storagePolicy'];
  if (policy !== undefined && policy !== null && policy !== 'cleartext' && policy !== 'encrypted') {
    refuse('InvalidDocument', ['metadata', 'storagePolicy'], 'must be cleartext or encrypted');
  }
  // what nobody is shown may be anything
  if (policy === 'encrypted' && !usedSchemas.has(schema)) return faults;
  if (policy === 'encrypted') {
    refuse('NotSupported', ['metadata', 'storagePolicy'], encryptedRule);
    return faults;
  }
  if (/^drydock\/(BaremetalNode|HostProfile)\/v1$/.test(schema)) passwordFaults(data, refuse);
  if (usedSchemas.has(schema) && isMapping(data)) secretFaults(data, refuse);
  return faults;
}

/** Plans, nodes and actions show what they say. */
const encryptedRule =
  'is encrypted, but what documents of this schema say is shown: keep the secret in a document of another schema (deckhand/Passphrase/v1), and substitute it from there';

type Refuse = (code: string, path: readonly (string | number)[], message: string) => void;

function nameRule(name: unknown): string {
  if (typeof name === 'number' || typeof name === 'boolean') return 'must be text: put it into quotes';
  return name === undefined ? 'is missing' : 'must be text, and not empty';
}

/** A credential's name; a password seldom looks like one, and with Drydock's `account` beside it is one. */
export const credentialName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/;

const credentialRule =
  'store user and password once by `baton credential set NAME`, and write `credential: NAME`; or write `account` beside the password, as Drydock has it';

const isGiven = (value: unknown): boolean => value !== undefined && value !== null && value !== '!';

/** The messages must not repeat what they refuse. */
function passwordFaults(data: unknown, refuse: Refuse): void {
  const oob = isMapping(data) ? data['oob'] : undefined;
  if (!isMapping(oob)) return;
  for (const key of ['username', 'user', 'password']) {
    if (oob[key] !== undefined && oob[key] !== null) {
      refuse('LiteralCredential', ['data', 'oob', key], `is not taken: ${credentialRule}`);
    }
  }
  const credential = oob['credential'];
  if (credential === undefined || credential === null || credential === '!' || credential === mask) return;
  // it is a password, and kept as one (`passwordIn`)
  if (isGiven(oob['account']) && typeof credential === 'string') return;
  if (typeof credential !== 'string' || !credentialName.test(credential)) {
    refuse('LiteralCredential', ['data', 'oob', 'credential'], `is not a name of a credential: ${credentialRule}`);
  }
}

const secretRule =
  'which everyone who may read the site would see: it is not kept in documents (a plugin task may fetch it on the node)';

/**
 * Finds secrets in the open; what the BMC asks for has its own rule; of `user_data` nobody can know: the site's check
 * warns of it.
 */
function secretFaults(data: JsonObject, refuse: Refuse): void {
  const isFine = (path: readonly (string | number)[], value: unknown): boolean => {
    const field = path.filter((part) => typeof part === 'string').join('.');
    if (value === '!' || value === mask || field.startsWith('config_drive.user_data')) return true;
    // misspelt it is reported as an unknown field
    if (/^clusters\.credentials?$/.test(field)) return typeof value === 'string' && credentialName.test(value);
    return /^oob\.(account|username|user|password|credential)$/.test(field);
  };
  for (const { path, kind } of findSecrets(data, { most: 10, isFine })) {
    const what = kind === 'login' ? 'has a login in its URL' : 'is named as a secret is';
    refuse('PlainSecret', ['data', ...path], `${what}, ${secretRule}`);
  }
}
