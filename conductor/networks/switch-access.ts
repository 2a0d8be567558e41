import { readPrivateFile } from '#conductor/kernel/private-file.ts';
import type { SwitchEntry } from '#conductor/networks/networks-file.ts';
import type { SwitchAccess } from '#conductor/networks/switch-driver.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** How a driver gets at the switch. Secrets are read when it logs in, and are kept nowhere. */
export function switchAccess(entry: SwitchEntry): SwitchAccess {
  const { endpoint, username, passwordFile, keyFile, enablePasswordFile } = entry;
  if (username === undefined) return { endpoint };
  return {
    endpoint,
    createVlans: entry.createVlans ?? false,
    login: {
      username,
      hostKey: entry.hostKey,
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

async function readSecret({ switchId }: SwitchEntry, key: string, file: string): Promise<string> {
  return readPrivateFile(file).catch((cause: unknown) => {
    throw new AppError('invalid_argument', `switch ${switchId}: ${key}: read ${file}`, { cause });
  });
}
