import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunningProcess } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { askPostgresql, openPool, preparePostgresHost } from '#test/support/postgresql.ts';
import { testKeyFile } from '#test/support/test-secrets.ts';

/** A primary server and a standby that follows it, of Debian's PostgreSQL, on loopback. */
export interface PostgresPair {
  /** Names both, and asks for the one that takes writes. */
  readonly url: string;
  readonly settings: Readonly<Record<string, string>>;
  /** From now on the primary answers once the standby has it, too; else at once. */
  synchronous(on: boolean): Promise<void>;
  /** The standby hears nothing more; what is answered from now on it lacks. */
  stopFollowing(): Promise<void>;
  /** Kills the primary, at once, as a power cut would; then promotes the standby. */
  failOver(): Promise<void>;
  /** Makes a standby of the server that was killed, or of a new one. */
  follow(): Promise<void>;
  close(): Promise<void>;
}

const name = 'standby';

export async function startPostgresPair(): Promise<PostgresPair> {
  await using opening = new AsyncDisposableStack();
  const host = await preparePostgresHost();
  opening.defer(() => host.close());
  const ports = [await host.freePort(), await host.freePort()] as const;
  const urls = ports.map((port) => host.urlOf(port));
  const running = new Map<number, RunningProcess>();
  opening.defer(async () => {
    for (const each of running.values()) {
      each.kill('SIGKILL');
      await each.exited;
    }
  });
  const state = { primary: 0 };
  const other = (): number => 1 - state.primary;
  const dataOf = (index: number): string => join(host.directory, `data${index}`);
  const ask = (index: number, statement: string) => askPostgresql(urls[index] ?? '', statement);
  const start = async (index: number): Promise<void> => {
    const more = ['wal_level=replica', 'max_wal_senders=5', 'wal_keep_size=512MB', `cluster_name=${name}`];
    running.set(index, host.start(dataOf(index), ports[index] ?? 0, more));
    await waitUntil('the server to answer', () => answers(urls[index] ?? ''), { everyMs: 50 });
  };
  await host.makeCluster(dataOf(0));
  await start(0);
  const follow = async (): Promise<void> => {
    const index = other();
    await host.baseBackup(urls[state.primary] ?? '', dataOf(index));
    await start(index);
    await waitUntil('the standby to follow', () => follows(urls[state.primary] ?? ''), { everyMs: 50 });
  };
  await follow();
  const synchronous = async (on: boolean): Promise<void> => {
    await ask(state.primary, `alter system set synchronous_standby_names = '${on ? name : ''}'`);
    await ask(state.primary, 'select pg_reload_conf()');
    if (on)
      await waitUntil('the standby to be synchronous', () => follows(urls[state.primary] ?? '', 'sync'), {
        everyMs: 50,
      });
  };
  const keyFile = join(host.directory, 'secret.key');
  await writeFile(keyFile, testKeyFile, { mode: 0o600 });
  const url = `postgres://${host.user}@${ports.map((port) => `127.0.0.1:${port}`).join()}/postgres?target_session_attrs=read-write`;
  const opened = opening.move();
  return {
    url,
    settings: { DATABASE_URL: url, BATON_SECRET_KEY_FILE: keyFile },
    synchronous,
    stopFollowing: async () => {
      await ask(other(), "alter system set primary_conninfo = ''");
      await ask(other(), 'select pg_reload_conf()');
      const gone = async () => ((await follows(urls[state.primary] ?? '')) ? undefined : true);
      await waitUntil('the standby to follow no more', gone, { everyMs: 20 });
    },
    failOver: async () => {
      const killed = running.get(state.primary);
      running.delete(state.primary);
      // its children end with it
      killed?.kill('SIGKILL');
      state.primary = other();
      await killed?.exited;
      for (const each of promotion) await ask(state.primary, each);
    },
    follow,
    close: () => opened.disposeAsync(),
  };
}

const promotion = [
  "alter system set synchronous_standby_names = ''",
  'select pg_reload_conf()',
  'select pg_promote(true, 60)',
];

const answers = (url: string): Promise<true | undefined> =>
  askPostgresql(url, 'select 1').then(
    () => true as const,
    () => undefined,
  );

async function follows(url: string, how?: 'sync'): Promise<true | undefined> {
  const pool = openPool({ connectionString: url, max: 1 });
  try {
    const { rows } = await pool.query<{ sync_state: string }>(
      "select sync_state from pg_stat_replication where state = 'streaming'",
    );
    return rows.some((row) => how === undefined || row.sync_state === how) || undefined;
  } finally {
    await pool.end();
  }
}
