import { randomBytes } from 'node:crypto';
import { mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createSecrets, type Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { readPrivateFile } from '#shared/private-file.ts';

const keyBytes = 32;
const howToMake = '`openssl rand -base64 32` creates one';

/**
 * Describes what is wrong with the settings: conductors on one database need the same key, and none may make one up.
 */
export function keyFileProblems(settings: {
  readonly DATABASE_URL?: string | undefined;
  readonly BATON_SECRET_KEY_FILE?: string | undefined;
}): string[] {
  if (settings.DATABASE_URL === undefined || settings.BATON_SECRET_KEY_FILE !== undefined) return [];
  return [
    'BATON_SECRET_KEY_FILE: with DATABASE_URL it must be given: the file with the key that seals passwords in the ' +
      `database, the same for all its conductors; ${howToMake}`,
  ];
}

/**
 * Loads the keys of the configuration: those of the file that it names, else the private server's own, made at its first
 * start. The caller must hold the lock of the data directory.
 * @throws AppError `invalid_argument` naming file and line.
 */
export async function loadSecrets(config: {
  readonly secretKeyFile: string | undefined;
  readonly dataDirectory: string;
}): Promise<Secrets> {
  if (config.secretKeyFile !== undefined) return readKeyFile(config.secretKeyFile, 'BATON_SECRET_KEY_FILE');
  const file = join(config.dataDirectory, 'secret.key');
  try {
    return await readKeyFile(file, 'the key of the private database');
  } catch (error) {
    const { cause } = error as Error;
    if ((cause as NodeJS.ErrnoException | undefined)?.code !== 'ENOENT') throw error;
  }
  await mkdir(config.dataDirectory, { recursive: true, mode: 0o700 });
  // whole or not at all, and on the disk before anything is sealed with it
  const unfinished = `${file}.new`;
  await rm(unfinished, { force: true });
  const key = randomBytes(keyBytes).toString('base64');
  await writeFile(unfinished, `${key}\n`, { mode: 0o600, flush: true, flag: 'wx' });
  await rename(unfinished, file);
  // the new name, too
  const folder = await open(config.dataDirectory);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
  return readKeyFile(file, 'the key of the private database');
}

async function readKeyFile(file: string, what: string): Promise<Secrets> {
  const text = await readPrivateFile(file).catch((cause: unknown) => {
    throw new AppError('invalid_argument', `${what}: read ${file}`, { cause });
  });
  return createSecrets(parseKeys(text, `${what}: ${file}`));
}

/**
 * Parses keys of 32 bytes as base64, a line each; empty lines and `#` lines are skipped.
 * @throws AppError `invalid_argument` naming the line, never its text.
 */
export function parseKeys(text: string, what: string): Buffer[] {
  const keys = text.split('\n').flatMap((line, index) => {
    const word = line.trim();
    if (word === '' || word.startsWith('#')) return [];
    const key = Buffer.from(word, 'base64');
    if (key.length === keyBytes && /^[A-Za-z0-9+/_-]+=*$/.test(word)) return [key];
    throw new AppError(
      'invalid_argument',
      `${what}: line ${index + 1} is not base64 of ${keyBytes} bytes; ${howToMake}`,
    );
  });
  if (keys.length === 0) throw new AppError('invalid_argument', `${what} has no key; ${howToMake}`);
  return keys;
}
