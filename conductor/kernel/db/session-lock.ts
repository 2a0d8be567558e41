import { openSession } from '#conductor/kernel/db/session.ts';

/** A lock that ends with the process that holds it, whatever becomes of that: PostgreSQL's, bound to a connection. */
export interface SessionLock {
  /** Takes the lock, or takes it again after the connection was lost; `false` while another process holds it. */
  take(): Promise<boolean>;
  wait(): Promise<void>;
  release(): Promise<void>;
}

/** A computer that is gone says nothing: the server asks, and frees its locks after a minute. */
const keepalives = `select set_config(name, value, false) from (values
  ('tcp_keepalives_idle', '30'), ('tcp_keepalives_interval', '10'), ('tcp_keepalives_count', '3')) as settings (name, value)`;

export function createSessionLock(url: string, name: string): SessionLock {
  const state = { isHeld: false };
  const session = openSession(url, {
    onOpen: async (client) => void (await client.query(keepalives)),
    // the lock goes with the connection
    onLost: () => {
      state.isHeld = false;
    },
  });
  const key = `hashtextextended($1, 0)`;
  const values = [`baton ${name}`];
  return {
    take: async () => {
      if (state.isHeld) return true;
      const client = await session.client();
      const { rows } = await client.query<{ taken: boolean }>(`select pg_try_advisory_lock(${key}) as taken`, values);
      state.isHeld = rows[0]?.taken === true;
      return state.isHeld;
    },
    wait: async () => {
      const client = await session.client();
      await client.query(`select pg_advisory_lock(${key})`, values);
      state.isHeld = true;
    },
    release: () => session.close(),
  };
}
