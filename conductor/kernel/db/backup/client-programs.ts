import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AppError } from '#shared/errors/app-error.ts';
import { type Run, start } from '#shared/process/run.ts';

/** PostgreSQL's `pg_dump` and `pg_restore` for one database. */
export interface ClientPrograms {
  /** For `--dbname`. */
  readonly connection: string;
  /**
   * Runs one of them to its end; what goes in and comes out is a stream, since a dump may be larger than memory.
   * @throws AppError `command_failed` with what it wrote on standard error
   */
  stream(name: ProgramName, args: readonly string[], pipes: Pipes): Promise<void>;
}

type ProgramName = 'pg_dump' | 'pg_restore';

interface Pipes {
  readonly input?: NodeJS.ReadableStream;
  readonly output?: NodeJS.WritableStream;
}

const maxErrorText = 2000;

/**
 * The programs of exactly the server's major version: a dump by newer ones sets what an older server does not know.
 * @param options.directory BATON_POSTGRESQL_BIN_DIR, if it is set
 * @throws AppError `unavailable` naming the package that has them
 */
export async function findClientPrograms(
  url: string,
  options: { readonly majorVersion: number; readonly directory: string | undefined; readonly run: Run },
): Promise<ClientPrograms> {
  const { majorVersion, run } = options;
  const places = [`/usr/lib/postgresql/${majorVersion}/bin`, ...(options.directory ? [options.directory] : [])];
  const fitting = await Promise.all(places.map((place) => isOfVersion(place, majorVersion, run)));
  const directory = places[fitting.indexOf(true)];
  if (directory === undefined) {
    throw new AppError(
      'unavailable',
      `pg_dump and pg_restore of PostgreSQL ${majorVersion}, the server's version, are not in ${places.join(' or ')}: ` +
        `install postgresql-client-${majorVersion}, or name their directory with BATON_POSTGRESQL_BIN_DIR`,
    );
  }
  const { connection, password } = splitPassword(url);
  return {
    connection,
    stream: (name, args, pipes) => streamThrough([join(directory, name), ...args], password, pipes),
  };
}

async function isOfVersion(directory: string, majorVersion: number, run: Run): Promise<boolean> {
  const said = await run(join(directory, 'pg_restore'), ['--version']).catch(() => undefined);
  return said !== undefined && /\(PostgreSQL\) (\d+)/.exec(said.stdout)?.[1] === String(majorVersion);
}

/** Other users of the machine can read arguments. */
function splitPassword(url: string): { readonly connection: string; readonly password: string | undefined } {
  const [, password] = /^postgres(?:ql)?:\/\/[^:@/?]*:([^@/]*)@/.exec(url) ?? /[?&]password=([^&]*)/.exec(url) ?? [];
  if (password === undefined) return { connection: url, password };
  const connection = url.replace(`:${password}@`, '@').replace(`password=${password}`, '');
  return { connection, password: decodeURIComponent(password) };
}

async function streamThrough(
  [program = '', ...args]: readonly string[],
  password: string | undefined,
  { input, output }: Pipes,
): Promise<void> {
  const child = start(program, args, {
    cwd: '/',
    ...(password === undefined ? {} : { env: { PGPASSWORD: password } }),
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said = `${said}${chunk.toString('utf8')}`.slice(-maxErrorText);
  });
  // one that ends early closes its input: its exit code says why
  const sent = input === undefined ? undefined : pipeline(input, child.stdin).catch(() => undefined);
  if (input === undefined) child.stdin.end();
  if (output === undefined) child.stdout.resume();
  else {
    await pipeline(child.stdout, output).catch(async (cause: unknown) => {
      child.kill('SIGKILL');
      throw new AppError('command_failed', `write what ${program} dumps`, { cause });
    });
  }
  await sent;
  const exitCode = await child.exited;
  if (exitCode !== 0) throw new AppError('command_failed', `${program} exited with ${exitCode}: ${said.trim()}`);
}
