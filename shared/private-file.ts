import { open } from 'node:fs/promises';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Reads the text of a file that only the conductor may read: a key, a token. The group may read it where root is its owner
 * and the conductor is not root, as PostgreSQL has it for its keys: so Kubernetes and Debian's `ssl-cert` hand them out.
 * @throws AppError `invalid_argument` when others can read or write it, else what reading it throws.
 */
export async function readPrivateFile(file: string): Promise<string> {
  const handle = await open(file, 'r');
  try {
    const { mode, uid } = await handle.stat();
    const isHandedOut = uid === 0 && process.getuid?.() !== 0;
    if ((mode & (isHandedOut ? 0o037 : 0o077)) !== 0) {
      const bits = (mode & 0o777).toString(8).padStart(4, '0');
      throw new AppError('invalid_argument', `${file} is open to others (mode ${bits}): chmod 600 ${file}`);
    }
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}
