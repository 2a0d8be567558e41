import { chown, mkdir, rename, rm } from 'node:fs/promises';
import type { AsAccount } from '#conductor/kernel/db/private-server/as-account.ts';
import type { ServerPrograms } from '#conductor/kernel/db/private-server/server-programs.ts';

/** The superuser of a private server; nobody but its conductor reaches its socket. */
export const superuser = 'baton';

/**
 * Makes an empty database cluster in `directory`, whole or not at all: what an earlier attempt left unfinished goes.
 * @param options further ones of initdb
 * @throws AppError `command_failed` with what initdb said, such as that the disk is full.
 */
export async function makeCluster(
  directory: string,
  programs: ServerPrograms,
  account: AsAccount,
  options: readonly string[] = [],
): Promise<void> {
  const unfinished = `${directory}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { mode: 0o700 });
  if (account.owner) await chown(unfinished, account.owner.uid, account.owner.gid);
  try {
    await account.run(`${programs.directory}/initdb`, [
      `--pgdata=${unfinished}`,
      `--username=${superuser}`,
      '--auth=trust', // the socket's directory is closed to others, and there is no other way in
      '--encoding=UTF8',
      '--locale=C',
      '--data-checksums',
      '--no-instructions',
      ...options,
    ]);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
  await rename(unfinished, directory);
}
