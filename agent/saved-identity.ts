import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';

/**
 * Token and certificate of this boot. The conductor gives the token out once and refuses another certificate while
 * one is on file (agent-protocol.md §3), so an agent process that is started again after a crash needs the old ones.
 * Kept in memory (a tmpfs): a reboot must forget them, as the conductor does.
 */
const SavedIdentity = z.object({
  node_uuid: z.string(),
  token: z.string().optional(),
  address: z.string(),
  /** None where the agent serves plain HTTP. */
  certificate_pem: z.string().optional(),
  key_pem: z.string().optional(),
});
export type SavedIdentity = z.infer<typeof SavedIdentity>;

const fileName = 'identity.json';

/** What an earlier process of this boot saved; `undefined` when there is nothing usable. */
export async function readSavedIdentity(directory: string, log: Log): Promise<SavedIdentity | undefined> {
  try {
    return SavedIdentity.parse(JSON.parse(await readFile(join(directory, fileName), 'utf8')));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      log.warn({ err: error, directory }, 'saved identity is unreadable, starting afresh');
    }
    return undefined;
  }
}

/** @throws AppError `internal` when the directory can't be written */
export async function saveIdentity(directory: string, identity: SavedIdentity): Promise<void> {
  const path = join(directory, fileName);
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await writeFile(`${path}.new`, JSON.stringify(identity), { mode: 0o600 });
    await rename(`${path}.new`, path);
  } catch (cause) {
    throw new AppError('internal', `save the agent's identity as ${path}`, { cause });
  }
}
