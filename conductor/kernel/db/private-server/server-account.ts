import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** Whom PostgreSQL runs as: it refuses to run as root. */
interface ServerAccount {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

const ownAccount = 'baton';
/** Debian's, where a server of Debian's is installed. */
const debianAccount = 'postgres';

/**
 * Chooses the account for a server that root starts: the owner of a database that is there, `wanted`, or else the first of
 * `baton` and `postgres` that exists; a system account `baton` is made where neither does. `undefined` for anybody else: the
 * server runs as its conductor does.
 * @throws AppError `invalid_argument` when `wanted` does not exist or is root, `unavailable` when none can be made.
 */
export async function chooseAccount(
  wanted: string | undefined,
  { run, ownerUid }: { readonly run: Run; readonly ownerUid?: number | undefined },
): Promise<ServerAccount | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  if (ownerUid !== undefined) return ownerAccount(ownerUid, wanted, run);
  if (wanted !== undefined) {
    const account = await findAccount(wanted, run);
    if (account && account.uid !== 0) return account;
    const why = account ? 'PostgreSQL refuses to run as root' : 'no such user on this machine';
    throw new AppError(
      'invalid_argument',
      `BATON_POSTGRESQL_USER: ${wanted}: ${why}; \`useradd --system baton\` creates one`,
    );
  }
  return (await findAccount(ownAccount, run)) ?? (await findAccount(debianAccount, run)) ?? (await makeAccount(run));
}

/** @throws AppError `invalid_argument` when the owner of the database is another one than `wanted`, or has no name. */
async function ownerAccount(uid: number, wanted: string | undefined, run: Run): Promise<ServerAccount> {
  const owner = await findAccount(String(uid), run);
  if (owner && owner.uid !== 0 && (wanted === undefined || wanted === owner.name)) return owner;
  throw new AppError(
    'invalid_argument',
    `BATON_POSTGRESQL_USER: the database belongs to ${owner?.name ?? `user ${uid}, who has no name on this machine`}` +
      (wanted === undefined ? '' : `, not to ${wanted}`),
  );
}

async function findAccount(name: string, run: Run): Promise<ServerAccount | undefined> {
  const { stdout, exitCode } = await run('getent', ['passwd', '--', name], { okExitCodes: [0, 2] });
  const [found = '', , uid, gid] = stdout.trim().split(':');
  return exitCode === 0 ? { name: found, uid: Number(uid), gid: Number(gid) } : undefined;
}

async function makeAccount(run: Run): Promise<ServerAccount> {
  try {
    await run('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', ownAccount]);
  } catch (cause) {
    throw new AppError(
      'unavailable',
      'PostgreSQL refuses to run as root, and no user for it could be made: run `useradd --system baton`, ' +
        'or name one with BATON_POSTGRESQL_USER',
      { cause },
    );
  }
  const made = await findAccount(ownAccount, run);
  if (!made) throw new AppError('unavailable', `useradd made the user ${ownAccount}, but it can't be found`);
  return made;
}

/** Runs programs as the server's account. */
export interface AsAccount {
  /** `undefined`: as this process runs. */
  readonly owner: ServerAccount | undefined;
  readonly run: Run;
  /** The argv with which a process runs as the account. */
  argv(command: string, args: readonly string[]): readonly [command: string, ...args: string[]];
}

export function asAccount(owner: ServerAccount | undefined, run: Run): AsAccount {
  const argv: AsAccount['argv'] = (command, args) =>
    owner
      ? ['setpriv', `--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups', '--', command, ...args]
      : [command, ...args];
  return {
    owner,
    argv,
    run: (command, args, options) => {
      const [first, ...rest] = argv(command, args);
      // the account may not enter the directory in which the conductor was started
      return run(first, rest, { cwd: '/', ...options });
    },
  };
}
