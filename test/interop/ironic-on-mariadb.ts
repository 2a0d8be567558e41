import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run, start } from '#shared/process/run.ts';
import { chrootCommand, chrootEnvironment } from '#test/interop/chroot-command.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { freePort } from '#test/support/free-port.ts';

type Json = Record<string, unknown>;

/** The real Ironic on loopback, whose database is a MariaDB, as in most sites. */
export interface IronicOnMariadb {
  readonly url: string;
  /** URL of its database for an account that may only read, as ironic.conf would have it. */
  readonly readerUrl: string;
  readonly logFile: string;
  /** @throws Error with status and body for anything but 2xx */
  call(method: string, path: string, body?: unknown): Promise<Json>;
  /** Waits for a node's state. @throws Error naming `last_error` where the node fails first */
  rest(node: string, state: string): Promise<Json>;
  close(): Promise<void>;
}

const passwords = { ironic: 'owner', reader: "it's only read" } as const;
const startMs = 300_000;

/** Programs of Debian 13 in one folder, which end together. */
interface Place {
  readonly folder: string;
  /** Runs a program to its end; 1 is an end, too. */
  readonly finish: (argv: readonly string[]) => Promise<number>;
  readonly serve: (argv: readonly string[]) => { readonly hasEnded: () => boolean };
}

function openPlace(folder: string, tree: string, ends: AsyncDisposableStack): Place {
  const inTree = (argv: readonly string[]): ReturnType<typeof chrootCommand> =>
    chrootCommand({ tree, binds: { [folder]: 'var/lib/ironic' }, argv });
  return {
    folder,
    finish: async (argv) => {
      const options = { env: chrootEnvironment, okExitCodes: [0, 1], timeoutMs: startMs };
      return (await run(...inTree(argv), options)).exitCode;
    },
    serve: (argv) => {
      const process = start(...inTree(argv), { env: chrootEnvironment });
      const state = { hasEnded: false };
      process.stdout.resume();
      process.stderr.resume();
      const end = (): void => {
        state.hasEnded = true;
      };
      process.exited.then(end, end);
      ends.defer(async () => {
        process.kill('SIGKILL');
        await process.exited;
      });
      return { hasEnded: () => state.hasEnded };
    },
  };
}

/** Starts MariaDB with an empty database `ironic` and two accounts; it may not answer yet. */
async function startMariadb({ folder, finish, serve }: Place, port: number): Promise<{ hasEnded: () => boolean }> {
  const options = ['--no-defaults', '--user=root', '--datadir=/var/lib/ironic/mysql', '--innodb-use-native-aio=0'];
  const code = await finish(['mariadb-install-db', ...options, '--skip-test-db']);
  if (code !== 0) throw new Error(`mariadb-install-db ended with ${code}`);
  await writeFile(join(folder, 'accounts.sql'), accounts);
  return serve([
    'mariadbd',
    ...options,
    '--init-file=/var/lib/ironic/accounts.sql',
    '--bind-address=127.0.0.1',
    `--port=${port}`,
    '--socket=/var/lib/ironic/mysql.sock',
    '--log-error=/var/lib/ironic/mysql.log',
    '--skip-name-resolve',
  ]);
}

/** Waits for the outcome of a look, unless the program behind it has ended. @throws Error with the file to look into */
async function waitForProgram(
  what: string,
  log: string,
  { hasEnded, look }: { readonly hasEnded: () => boolean; readonly look: () => Promise<boolean> },
): Promise<void> {
  const outcome = await waitUntil(
    what,
    async () => {
      if (hasEnded()) return 'ended';
      return (await look()) ? 'there' : undefined;
    },
    { timeoutMs: startMs, everyMs: 500 },
  );
  if (outcome === 'ended') throw new Error(`${what}: it has ended:\n${await readFile(log, 'utf8')}`);
}

/**
 * Starts MariaDB and Ironic's API and conductor in one process.
 * @param folder an empty one, which they keep their files in
 * @param tree Debian 13, see `debian-13.ts`
 */
export async function startIronicOnMariadb(folder: string, tree: string): Promise<IronicOnMariadb> {
  await using opening = new AsyncDisposableStack();
  for (const each of ['mysql', 'httpboot', 'tftpboot', 'images']) await mkdir(join(folder, each));
  const [port, databasePort] = [await freePort(), await freePort()];
  const url = `http://127.0.0.1:${port}`;
  const place = openPlace(folder, tree, opening);
  const database = await startMariadb(place, databasePort);
  const urlFor = (user: keyof typeof passwords): string =>
    `mysql+pymysql://${user}:${encodeURIComponent(passwords[user])}@127.0.0.1:${databasePort}/ironic?charset=utf8mb4`;
  await writeFile(join(folder, 'ironic.conf'), ironicConf(port, urlFor('ironic')));
  const settings = ['--config-file', '/var/lib/ironic/ironic.conf'];
  await waitForProgram('the database of Ironic', join(folder, 'mysql.log'), {
    hasEnded: database.hasEnded,
    look: async () => (await place.finish(['ironic-dbsync', ...settings, 'create_schema'])) === 0,
  });
  const ironic = place.serve(['ironic', ...settings]);
  const call = (method: string, path: string, body?: unknown): Promise<Json> => ask(url, { method, path, body });
  const logFile = join(folder, 'ironic.log');
  await waitForProgram('the real Ironic to serve', logFile, {
    hasEnded: ironic.hasEnded,
    look: async () => ((await call('GET', '/v1/drivers'))['drivers'] as readonly unknown[]).length > 0,
  });
  const stack = opening.move();
  return {
    url,
    readerUrl: urlFor('reader'),
    logFile,
    call,
    rest: (node, state) => restIn(call, node, state),
    close: () => stack.disposeAsync(),
  };
}

async function restIn(call: IronicOnMariadb['call'], node: string, state: string): Promise<Json> {
  const found = await waitUntil(
    `${node} to become ${state} in Ironic`,
    async () => {
      const seen = await call('GET', `/v1/nodes/${node}`);
      const now = String(seen['provision_state']);
      return now === state || /fail|error/.test(now) ? seen : undefined;
    },
    { timeoutMs: startMs },
  );
  if (found['provision_state'] !== state) throw new Error(`${node}: ${String(found['last_error'])}`);
  return found;
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

async function ask(url: string, { method, path, body }: Request): Promise<Json> {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { 'X-OpenStack-Ironic-API-Version': 'latest', 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`);
  return (text === '' ? {} : JSON.parse(text)) as Json;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

const accounts = [
  'create database ironic character set utf8mb4',
  `create user ironic@'127.0.0.1' identified by ${quoted(passwords.ironic)}`,
  "grant all on ironic.* to ironic@'127.0.0.1'",
  `create user reader@'127.0.0.1' identified by ${quoted(passwords.reader)}`,
  "grant select on ironic.* to reader@'127.0.0.1'",
]
  .map((statement) => `${statement};\n`)
  .join('');

/** Ironic stand-alone, which looks at its machines' power every two seconds. */
const ironicConf = (port: number, database: string): string => `[DEFAULT]
auth_strategy = noauth
rpc_transport = none
host = interop
my_ip = 127.0.0.1
state_path = /var/lib/ironic
log_file = /var/lib/ironic/ironic.log
enabled_hardware_types = redfish
enabled_bios_interfaces = no-bios
enabled_boot_interfaces = ipxe
enabled_console_interfaces = no-console
enabled_deploy_interfaces = direct,ramdisk
enabled_firmware_interfaces = no-firmware
enabled_inspect_interfaces = no-inspect
enabled_management_interfaces = redfish
enabled_network_interfaces = noop
enabled_power_interfaces = redfish
enabled_raid_interfaces = no-raid,agent
enabled_rescue_interfaces = no-rescue
enabled_storage_interfaces = noop
enabled_vendor_interfaces = no-vendor
[agent]
image_download_source = http
deploy_logs_collect = never
[api]
host_ip = 127.0.0.1
port = ${port}
api_workers = 1
[conductor]
automated_clean = false
sync_power_state_interval = 2
[database]
connection = ${database}
[deploy]
http_url = http://127.0.0.1:1/boot
http_root = /var/lib/ironic/httpboot
[dhcp]
dhcp_provider = none
[oslo_concurrency]
lock_path = /var/lib/ironic/lock
[pxe]
tftp_root = /var/lib/ironic/tftpboot
images_path = /var/lib/ironic/images
instance_master_path = /var/lib/ironic/master_images
tftp_master_path = /var/lib/ironic/tftpboot/master_images
[service_catalog]
auth_type = none
endpoint_override = http://127.0.0.1:${port}
`;
