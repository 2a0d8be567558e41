import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { newToken, tokenDigest } from '#conductor/auth/api-tokens.ts';
import { readPrivateFile } from '#conductor/kernel/private-file.ts';
import { unreadable } from '#conductor/kernel/watched-file.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';

const shortest = 32;

/**
 * The token with which the first administrator makes the others. A missing file is made, readable by its owner alone:
 * whoever may read the conductor's data directory owns the conductor anyway.
 * @returns its digest
 * @throws AppError `invalid_argument` naming the file.
 */
export async function readAdminToken(file: string, log: Log): Promise<string> {
  const setting = 'BATON_ADMIN_TOKEN_FILE';
  const text = await readPrivateFile(file).catch(async (cause: unknown) => {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') return unreadable(setting, file)(cause);
    const token = newToken();
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(file, `${token}\n`, { mode: 0o600, flag: 'wx' }).catch((error: unknown) => {
      throw new AppError('invalid_argument', `${setting}: make ${file}`, { cause: error });
    });
    log.info({ file }, `a token of an administrator was made; to use baton with it: set BATON_TOKEN_FILE=${file}`);
    return token;
  });
  const token = text.trim();
  if (token.length < shortest) {
    throw new AppError('invalid_argument', `${setting}: ${file} must hold a token of at least ${shortest} characters`);
  }
  return tokenDigest(token);
}
