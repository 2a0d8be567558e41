import { chmod, chown, mkdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type AsAccount, asAccount, chooseAccount } from '#conductor/kernel/db/private-server/server-account.ts';
import {
  bringUp,
  type Cluster,
  clusterUrl,
  type ServerProcess,
  shutDown,
  whenGone,
} from '#conductor/kernel/db/private-server/server-process.ts';
import {
  findPrograms,
  makeCluster,
  reachablePrograms,
  readDatabaseVersion,
} from '#conductor/kernel/db/private-server/server-programs.ts';
import { lockDirectory } from '#conductor/kernel/db/session/lock-directory.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { keepRunning } from '#shared/process/keep-running.ts';
import type { Run } from '#shared/process/run.ts';

export interface PrivateServerOptions {
  /** The conductor's data directory; the database is `postgresql` below it. */
  readonly dataDirectory: string;
  /** BATON_POSTGRESQL_USER, of a conductor that runs as root. */
  readonly user: string | undefined;
  /** BATON_POSTGRESQL_BIN_DIR. */
  readonly binDirectory: string | undefined;
  readonly run: Run;
  readonly log: Log;
}

/** A PostgreSQL server that only this conductor uses, reached by a socket below its data directory. */
export interface PrivateServer {
  readonly url: string;
  /** Why it does not run just now; `undefined` while it does. */
  trouble(): string | undefined;
  /** Shuts it down, so that its files are at rest. A conductor that is killed leaves it running for the next one. */
  close(): Promise<void>;
}

/** A path of a socket, which the kernel limits to 107 bytes. */
const maxSocketPath = 107;

/**
 * Starts the server, or takes up the one that a killed conductor left, and starts it again whenever it ends.
 * @throws AppError `unavailable` or `invalid_argument` saying what is missing, or what PostgreSQL said.
 */
export async function startPrivateServer(given: PrivateServerOptions): Promise<PrivateServer> {
  // what it starts has other working directories
  const options = { ...given, dataDirectory: resolve(given.dataDirectory) };
  const { dataDirectory, log } = options;
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  const lock = await lockDirectory(dataDirectory);
  try {
    const cluster = await prepareCluster(options);
    const running = await bringUp(cluster);
    const server = keepRunning<ServerProcess>(
      { name: 'PostgreSQL', start: () => bringUp(cluster), whenGone, end: shutDown, log },
      running,
    );
    return {
      url: clusterUrl(cluster),
      trouble: () => server.trouble(),
      close: async () => {
        await server.close();
        await lock.release();
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function prepareCluster({ dataDirectory, user, binDirectory, run, log }: PrivateServerOptions): Promise<Cluster> {
  const directory = join(dataDirectory, 'postgresql');
  requireShortPath(directory);
  await requireNoPglite(dataDirectory);
  const account = asAccount(await chooseAccount(user, { run, ownerUid: await ownerOf(directory) }), run);
  await admitAccount(dataDirectory, account);
  const version = await readDatabaseVersion(directory);
  const found = await findPrograms({ majorVersion: version, directory: binDirectory }, run);
  const programs = await reachablePrograms(found, { dataDirectory, account, run });
  if (version === undefined) await makeCluster(directory, programs, account);
  return { directory, logFile: join(dataDirectory, 'postgresql.log'), programs, account, log };
}

function requireShortPath(directory: string): void {
  const bytes = Buffer.byteLength(join(directory, '.s.PGSQL.5432'));
  if (bytes <= maxSocketPath) return;
  throw new AppError(
    'invalid_argument',
    `BATON_DATA_DIR: it is ${bytes - maxSocketPath} bytes too long for the path of a socket (${directory})`,
  );
}

/**
 * Refuses a folder with the database of an earlier version, which was kept in process, in a format that no PostgreSQL server
 * reads.
 */
async function requireNoPglite(dataDirectory: string): Promise<void> {
  const before = join(dataDirectory, 'postgres');
  if ((await readDatabaseVersion(before)) === undefined) return;
  throw new AppError(
    'conflict',
    `${before} is the database of an earlier Baton, which kept it in process (PGlite); this version can't read it. ` +
      'Finish or note down what it holds with that version (`baton node list`), then move the directory away',
  );
}

/** Returns the owner of an existing database: its server can only run as that user. */
async function ownerOf(directory: string): Promise<number | undefined> {
  return stat(directory).then(
    ({ uid }) => uid,
    () => undefined,
  );
}

/** The account must get through to its files; nobody else may list what is there. */
async function admitAccount(dataDirectory: string, { owner, run }: AsAccount): Promise<void> {
  if (!owner) return;
  const { uid } = await stat(dataDirectory);
  if (uid === owner.uid) {
    throw new AppError(
      'invalid_argument',
      `BATON_DATA_DIR: ${dataDirectory} belongs to ${owner.name}, as whom PostgreSQL runs, but root keeps its keys there: ` +
        `\`chown root ${dataDirectory}\``,
    );
  }
  const mayEnter = async (): Promise<boolean> =>
    (await run('test', ['-x', dataDirectory], { okExitCodes: [0, 1] })).exitCode === 0;
  if (await mayEnter()) return;
  await chown(dataDirectory, uid, owner.gid);
  await chmod(dataDirectory, 0o710);
  if (await mayEnter()) return;
  throw new AppError(
    'invalid_argument',
    `BATON_DATA_DIR: the user ${owner.name}, as whom PostgreSQL runs, can't enter ${dataDirectory}: ` +
      'open each directory above it (chmod o+x), or choose another, such as /var/lib/baton',
  );
}
