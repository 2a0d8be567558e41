import { readFile } from 'node:fs/promises';
import type { SwitchEntry } from '#conductor/networks/networks-file.ts';
import type { SwitchAccess, SwitchCredential } from '#conductor/networks/switch-driver.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { readPrivateFile } from '#shared/private-file.ts';

/** A stored user and password; `undefined` where there is none of that name. */
export type OpenCredential = (name: string) => Promise<SwitchCredential | undefined>;

/** How a driver gets at the switch. Secrets are read when it logs in, and are kept for no longer than a change. */
export function switchAccess(
  entry: SwitchEntry,
  openCredential: OpenCredential,
  onVlansKept?: SwitchAccess['onVlansKept'],
): SwitchAccess {
  const { endpoint, credential, username = '', passwordFile, keyFile, enablePasswordFile, caFile, bondNumbers } = entry;
  const plain = { endpoint, ...(bondNumbers ? { bondNumbers } : {}) };
  if (credential === undefined && username === '') return plain;
  return {
    ...plain,
    createVlans: entry.createVlans ?? false,
    removeVlans: entry.removeVlans ?? false,
    onVlansKept,
    uplinks: entry.uplinks ?? [],
    login: {
      username,
      ...(credential === undefined
        ? {}
        : { credential: async () => (await openCredential(credential)) ?? noCredential(entry, credential) }),
      hostKey: entry.hostKey,
      certificate: entry.certificate,
      ...(caFile === undefined
        ? {}
        : { certificateAuthority: () => readFile(caFile, 'utf8').catch(unreadable(entry, 'ca_file', caFile)) }),
      ...(passwordFile === undefined ? {} : { password: secretIn(entry, 'password_file', passwordFile) }),
      ...(keyFile === undefined ? {} : { privateKey: () => readSecret(entry, 'key_file', keyFile) }),
      ...(enablePasswordFile === undefined
        ? {}
        : { enablePassword: secretIn(entry, 'enable_password_file', enablePasswordFile) }),
    },
  };
}

/** A password is a line: editors end it. */
function secretIn(entry: SwitchEntry, key: string, file: string): () => Promise<string> {
  return async () => (await readSecret(entry, key, file)).replace(/\r?\n$/, '');
}

function noCredential({ switchId }: SwitchEntry, name: string): never {
  throw new AppError(
    'invalid_argument',
    `switch ${switchId}: there is no credential ${name}: store it by baton credential set ${name} username=USER password=@FILE`,
  );
}

async function readSecret(entry: SwitchEntry, key: string, file: string): Promise<string> {
  return readPrivateFile(file).catch(unreadable(entry, key, file));
}

function unreadable({ switchId }: SwitchEntry, key: string, file: string): (cause: unknown) => never {
  return (cause) => {
    throw new AppError('invalid_argument', `switch ${switchId}: ${key}: read ${file}`, { cause });
  };
}
