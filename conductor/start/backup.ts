import { type FileHandle, open, rm, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { dumpDatabase, restoreDatabase } from '#conductor/kernel/db/backup/dump-and-restore.ts';
import { readConfig } from '#conductor/start/config.ts';
import { AppError } from '#shared/errors/app-error.ts';

const chunkBytes = 256 * 1024;

type Settings = ReturnType<typeof readConfig>;

/**
 * Dumps the database of the conductor's settings into a file that is not there yet; half of a dump is deleted.
 * @returns the file of the keys without which the dump can't be used; null = the settings don't name it
 * @throws AppError saying why there is no dump
 */
export async function dumpToFile(
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<{ readonly keyFile: string | null }> {
  const config = readConfig(environment, { noKeys: true });
  const handle = await open(file, 'wx', 0o600).catch((cause: unknown) => {
    throw new AppError('invalid_argument', `the dump needs a new file, ${file}`, { cause, details: { usage: true } });
  });
  try {
    await becomeOwner(config);
    await dumpDatabase(config, handle.createWriteStream({ flush: true }));
  } catch (cause) {
    await rm(file).catch(() => undefined); // as another user this one may not; then it is empty or broken, and said so
    if (cause instanceof AppError && cause.code === 'not_found') {
      throw new AppError('invalid_argument', 'the database was not dumped', { cause, details: { usage: true } });
    }
    throw new AppError('unavailable', `dump the database to ${file}, which is unusable`, { cause });
  }
  const own = config.databaseUrl === undefined ? `${config.dataDirectory}/secret.key` : null;
  return { keyFile: config.secretKeyFile ?? own };
}

/**
 * Restores a dump into the empty database of the conductor's settings.
 * @throws AppError saying why nothing was changed
 */
export async function restoreFromFile(
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const config = readConfig(environment, { noKeys: true });
  const handle = await open(file).catch((cause: unknown) => {
    throw new AppError('invalid_argument', `read the dump ${file}`, { cause, details: { usage: true } });
  });
  try {
    await becomeOwner(config);
    await restoreDatabase(config, () => Readable.from(chunksOf(handle)));
  } catch (cause) {
    throw new AppError(cause instanceof AppError ? cause.code : 'internal', `restore ${file}`, { cause });
  } finally {
    await handle.close();
  }
}

/**
 * Reads the chunks of a file from its beginning. A stream of the handle's own would close it where a reader needs only the
 * first part.
 */
async function* chunksOf(handle: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await handle.read({ buffer: Buffer.allocUnsafe(chunkBytes), position });
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    position += bytesRead;
  }
}

/**
 * A private database of a conductor that does not run as root is left as it is: what root starts and makes there would
 * belong to root. The file is open by then, wherever it is.
 */
async function becomeOwner({ databaseUrl, dataDirectory }: Settings): Promise<void> {
  if (databaseUrl !== undefined || process.getuid?.() !== 0) return;
  const owner = await stat(dataDirectory).catch(() => undefined);
  if (owner === undefined || owner.uid === 0) return;
  process.setgroups?.([owner.gid]);
  process.setgid?.(owner.gid);
  process.setuid?.(owner.uid);
}
