import { chown, copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { z } from 'zod';
import { type RunningProcess, run, start } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type EtcdTestCluster, startEtcd } from '#test/support/etcd.ts';
import { type PostgresHost, preparePostgresHost } from '#test/support/postgresql.ts';
import { testKeyFile } from '#test/support/test-secrets.ts';

/** Two PostgreSQL servers under Debian's Patroni on loopback, one the synchronous standby of the other, and their etcd. */
export interface PatroniPair {
  /** Names both servers, and asks for the one that takes writes. */
  readonly url: string;
  readonly settings: Readonly<Record<string, string>>;
  /** Answers the leader, once it answers and the other is its synchronous standby. */
  synchronous(): Promise<string>;
  /** Kills Patroni and PostgreSQL of the leader last answered, at once, as a power cut would. @returns its name */
  killLeader(): Promise<string>;
  /** Starts one that was killed, on the data that it has. */
  start(name: string): void;
  /** Has the standby lead, by `patronictl switchover`. */
  switchOver(): Promise<void>;
  close(): Promise<void>;
}

/** The least that Patroni takes; it is how long a leader that is dead still counts as alive. */
const ttlSeconds = 20;
const clusterName = 'baton';
const names = ['one', 'other'] as const;
const everyMs = 100;

interface Member {
  readonly name: string;
  readonly port: number;
  readonly apiUrl: string;
  readonly configFile: string;
}

export async function startPatroniPair(): Promise<PatroniPair> {
  await using opening = new AsyncDisposableStack();
  const host = await preparePostgresHost();
  opening.defer(() => host.close());
  const etcd = await startEtcd(['store']);
  opening.defer(() => etcd.close());
  const tls = await copyTls(etcd, host);
  const members = await Promise.all(names.map((name) => configure(name, { host, etcd, tls })));
  const running = new Map<string, RunningProcess>();
  const kill = async (name: string): Promise<void> => {
    const patroni = running.get(name);
    running.delete(name);
    if (!patroni) return;
    patroni.kill('SIGKILL');
    // which the last of its processes closes
    await finished(patroni.stderr);
  };
  opening.defer(async () => void (await Promise.all(names.map(kill))));
  const begin = (name: string): void => void running.set(name, startPatroni(find(members, name), host));
  for (const name of names) begin(name);
  const state = { leader: '' };
  const synchronous = async (): Promise<string> => {
    state.leader = await waitUntil('a leader with its synchronous standby', () => findLeader(members), { everyMs });
    return state.leader;
  };
  const keyFile = join(host.directory, 'secret.key');
  await writeFile(keyFile, testKeyFile, { mode: 0o600 });
  const hosts = members.map(({ port }) => `127.0.0.1:${port}`).join();
  const url = `postgres://${host.user}@${hosts}/postgres?target_session_attrs=read-write`;
  await synchronous();
  const opened = opening.move();
  return {
    url,
    settings: { DATABASE_URL: url, BATON_SECRET_KEY_FILE: keyFile },
    synchronous,
    killLeader: async () => {
      await kill(state.leader);
      return state.leader;
    },
    start: begin,
    switchOver: async () => {
      const name = await synchronous();
      const candidate = names.find((each) => each !== name) ?? name;
      const { configFile } = find(members, name);
      const asked = ['switchover', clusterName, '--leader', name, '--candidate', candidate, '--force'];
      await run('patronictl', ['-c', configFile, ...asked]);
    },
    close: () => opened.disposeAsync(),
  };
}

function find(members: readonly Member[], name: string): Member {
  const found = members.find((each) => each.name === name);
  if (!found) throw new Error(`no member is called ${name}`);
  return found;
}

/** Copies the client's keys to where the servers' account reads them. */
async function copyTls(etcd: EtcdTestCluster, { directory, owner }: PostgresHost): Promise<string> {
  const tls = join(directory, 'etcd');
  await mkdir(tls);
  for (const file of ['ca.crt', 'client.crt', 'client.key']) {
    await copyFile(join(etcd.tlsDirectory, 'kubernetes', file), join(tls, file));
    if (owner) await chown(join(tls, file), owner.uid, owner.gid);
  }
  return tls;
}

async function configure(
  name: string,
  { host, etcd, tls }: { readonly host: PostgresHost; readonly etcd: EtcdTestCluster; readonly tls: string },
): Promise<Member> {
  const [port, apiPort] = [await host.freePort(), await host.freePort()];
  const home = join(host.directory, name);
  await mkdir(home);
  if (host.owner) await chown(home, host.owner.uid, host.owner.gid);
  const [address, apiAddress] = [port, apiPort].map((each) => `127.0.0.1:${each}`);
  const configuration = {
    scope: clusterName,
    name,
    restapi: { listen: apiAddress, connect_address: apiAddress },
    etcd3: {
      host: new URL(etcd.member('store').url).host,
      protocol: 'https',
      cacert: join(tls, 'ca.crt'),
      cert: join(tls, 'client.crt'),
      key: join(tls, 'client.key'),
    },
    bootstrap: {
      dcs: {
        ttl: ttlSeconds,
        loop_wait: 2,
        retry_timeout: 9,
        synchronous_mode: true,
        postgresql: {
          use_pg_rewind: true,
          parameters: { max_connections: 300, wal_keep_size: '512MB' },
        },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, { auth: 'trust' }, 'data-checksums', 'no-sync'],
      pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
    },
    postgresql: {
      listen: address,
      connect_address: address,
      data_dir: join(home, 'data'),
      bin_dir: host.programs,
      pgpass: join(home, 'pgpass'),
      authentication: { superuser: { username: host.user }, replication: { username: host.user } },
      // processes are killed, machines are not; and shared memory goes with its directory
      parameters: { unix_socket_directories: home, fsync: 'off', dynamic_shared_memory_type: 'mmap' },
    },
  };
  const configFile = join(host.directory, `${name}.yml`);
  await writeFile(configFile, JSON.stringify(configuration)); // which is YAML, too
  return { name, port, apiUrl: `http://${apiAddress}`, configFile };
}

/** Starts Patroni in namespaces of its own: its server, which is not its child, ends with it, however that ends. */
function startPatroni({ configFile }: Member, { owner }: PostgresHost): RunningProcess {
  const as = owner ? [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups'] : [];
  const patroni = start('setpriv', [
    '--pdeathsig=KILL',
    '--',
    'unshare',
    '--pid',
    '--ipc',
    '--mount-proc',
    '--fork',
    '--kill-child=KILL',
    '--',
    'setpriv',
    ...as,
    '--pdeathsig=KILL',
    '--',
    'patroni',
    configFile,
  ]);
  patroni.stdout.resume();
  patroni.stderr.resume();
  return patroni;
}

const ClusterAnswer = z.object({
  members: z.array(z.object({ name: z.string(), role: z.string(), state: z.string() })),
});

async function findLeader(members: readonly Member[]): Promise<string | undefined> {
  const answers = await Promise.all(members.map(({ apiUrl }) => askCluster(apiUrl)));
  const all = answers.flatMap((answer) => answer?.members ?? []);
  const isSynchronous = all.some(({ role, state }) => role === 'sync_standby' && /running|streaming/.test(state));
  const leaders = new Set(all.filter(({ role }) => role === 'leader').map(({ name }) => name));
  return isSynchronous && leaders.size === 1 ? [...leaders][0] : undefined;
}

async function askCluster(url: string): Promise<z.infer<typeof ClusterAnswer> | undefined> {
  try {
    return ClusterAnswer.parse(await (await fetch(`${url}/cluster`)).json());
  } catch {
    return undefined; // it does not run
  }
}
