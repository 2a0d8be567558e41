import { readFile } from 'node:fs/promises';
import { readPrivateFile } from '#conductor/kernel/private-file.ts';
import type { SwitchEntry } from '#conductor/networks/networks-file.ts';
import type { SwitchAccess } from '#conductor/networks/switch-driver.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** How a driver gets at the switch. Secrets are read when it logs in, and are kept nowhere. */
export function switchAccess(entry: SwitchEntry): SwitchAccess {
  const { endpoint, username, passwordFile, keyFile, enablePasswordFile, caFile, bondNumbers } = entry;
  const plain = { endpoint, ...(bondNumbers ? { bondNumbers } : {}) };
  if (username === undefined) return plain;
  return {
    ...plain,
    createVlans: entry.createVlans ?? false,
    login: {
      username,
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

async function readSecret(entry: SwitchEntry, key: string, file: string): Promise<string> {
  return readPrivateFile(file).catch(unreadable(entry, key, file));
}

function unreadable({ switchId }: SwitchEntry, key: string, file: string): (cause: unknown) => never {
  return (cause) => {
    throw new AppError('invalid_argument', `switch ${switchId}: ${key}: read ${file}`, { cause });
  };
}
