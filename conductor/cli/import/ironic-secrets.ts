import { parse } from 'yaml';
import { objectIn } from '#conductor/cli/import/fleet.ts';
import { type Json } from '#conductor/cli/shell/api-client.ts';
import { readInputFile } from '#conductor/cli/shell/input-files.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { run } from '#shared/process/run.ts';

/** `driver_info` of nodes as it really is, which Ironic's API masks, by UUID or name. */
export type DriverSecrets = ReadonlyMap<string, Json>;

const query = 'select uuid, driver_info from nodes';
const queryMs = 120_000;

/**
 * Reads what the API masks from a file: JSON or YAML, `{NODE: {redfish_password: …}}`.
 * @throws AppError `invalid_argument` naming file and node
 */
export async function readSecretsFile(file: string): Promise<DriverSecrets> {
  const text = await readInputFile('--secrets', file);
  let document: unknown;
  try {
    document = parse(text);
  } catch (cause) {
    throw usageError(`--secrets: ${file}: it must be JSON or YAML`, { cause });
  }
  const entries = Object.entries(objectIn(document));
  const wrong = entries.find(([, info]) => typeof info !== 'object' || info === null || Array.isArray(info));
  if (entries.length === 0 || wrong) {
    const where = wrong ? `${wrong[0]}: ` : '';
    throw usageError(`--secrets: ${file}: ${where}it must be {NODE: {redfish_password: …}}`);
  }
  return new Map(entries.map(([node, info]) => [node, objectIn(info)]));
}

/**
 * Reads what the API masks from Ironic's database, by its own client program, in a session that can't write.
 * @param given `sqlite:////PATH`, `postgresql://…`, `mysql+pymysql://…`, as `[database] connection` of ironic.conf has it
 * @throws AppError `invalid_argument` for another URL, `command_failed` with what the program says
 */
export async function readSecretsDatabase(given: string): Promise<DriverSecrets> {
  const url = URL.parse(given);
  const kind = url?.protocol.replace(/[:+].*$/, '');
  if (!url || !kind || !/^(sqlite|postgres|postgresql|mysql|mariadb)$/.test(kind)) {
    throw usageError('--database: it must be sqlite:////PATH, postgresql://… or mysql://…, as ironic.conf has it');
  }
  const command = commandFor(kind, url);
  const what = `read nodes of Ironic's database by ${command.programs.join(' or ')}`;
  const stdout = await runFirst(command).catch((cause: unknown) => {
    throw new AppError('command_failed', what, { cause });
  });
  return new Map(
    stdout
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => readRow(line, what)),
  );
}

/** Runs the first of the programs that is there. */
async function runFirst({ programs: [program = '', ...others], args, env }: DatabaseCommand): Promise<string> {
  try {
    return (await run(program, args, { env, timeoutMs: queryMs })).stdout;
  } catch (error) {
    const isAbsent = error instanceof Error && Reflect.get(Object(error.cause), 'code') === 'ENOENT';
    if (!isAbsent || others.length === 0) throw error;
    return runFirst({ programs: others, args, env });
  }
}

function readRow(line: string, what: string): readonly [string, Json] {
  const [, uuid = '', text = ''] = /^([0-9a-f-]{36})\t(.*)$/.exec(line) ?? [];
  try {
    return [uuid, objectIn(JSON.parse(text) as unknown)];
  } catch {
    // never with the text: it has the passwords
    throw new AppError('command_failed', `${what}: a row is not uuid and driver_info as JSON`);
  }
}

interface DatabaseCommand {
  /** Names of one program; a system has one of them, or both. */
  readonly programs: readonly string[];
  readonly args: readonly string[];
  readonly env: Record<string, string>;
}

/** Options of a database's URL, and the variable or option of its program that means the same. */
const knownOptions: Readonly<Record<'sqlite' | 'postgresql' | 'mysql', Readonly<Record<string, string>>>> = {
  sqlite: {},
  postgresql: {
    sslmode: 'PGSSLMODE',
    sslrootcert: 'PGSSLROOTCERT',
    sslcert: 'PGSSLCERT',
    sslkey: 'PGSSLKEY',
    sslcrl: 'PGSSLCRL',
    connect_timeout: 'PGCONNECT_TIMEOUT',
  },
  mysql: {
    charset: '--default-character-set',
    ssl_ca: '--ssl-ca',
    ssl_cert: '--ssl-cert',
    ssl_key: '--ssl-key',
    connect_timeout: '--connect-timeout',
  },
};

/** Passwords go by the environment: arguments are everybody's to read. */
function commandFor(kind: string, url: URL): DatabaseCommand {
  const user = decodeURIComponent(url.username);
  const password = decodeURIComponent(url.password);
  const name = url.pathname.slice(1);
  const options = [...url.searchParams];
  const known = knownOptions[kind.startsWith('postgres') ? 'postgresql' : kind === 'sqlite' ? 'sqlite' : 'mysql'];
  const strange = options.filter(([key]) => known[key] === undefined).map(([key]) => key);
  if (strange.length > 0) {
    const words = Object.keys(known).join(', ') || 'none';
    throw usageError(`--database: ${strange.join(', ')} can't be passed on to the database's program (${words} can)`);
  }
  const passed = options.map(([key, value]): [string, string] => [known[key] ?? '', value]);
  if (kind === 'sqlite') {
    return { programs: ['sqlite3'], args: ['-readonly', '-separator', '\t', name, query], env: {} };
  }
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  if (kind.startsWith('postgres')) {
    const place = ['-h', host, ...(url.port === '' ? [] : ['-p', url.port]), ...(user === '' ? [] : ['-U', user])];
    const secret = {
      ...Object.fromEntries(passed),
      PGPASSWORD: password,
      PGOPTIONS: '-c default_transaction_read_only=on',
    };
    return {
      programs: ['psql'],
      args: ['-XAt', '-F', '\t', ...place, '-d', name, '-c', query],
      env: secret,
    };
  }
  const place = ['-h', host, ...(url.port === '' ? [] : ['-P', url.port]), ...(user === '' ? [] : ['-u', user])];
  const given = passed.map(([option, value]) => `${option}=${value}`);
  const readOnly = '--init-command=set session transaction read only';
  const args = ['--batch', '--raw', '--skip-column-names', readOnly, ...given, ...place, '-e', query, name];
  // Debian 13 has MariaDB's client by this name alone
  return { programs: ['mariadb', 'mysql'], args, env: { MYSQL_PWD: password } };
}
