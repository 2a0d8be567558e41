import postgres from 'postgres';

/** A lock that ends with the process that holds it, whatever becomes of that: PostgreSQL's, bound to a connection. */
export interface SessionLock {
  /** Takes the lock, or takes it again after the connection was lost; `false` while another process holds it. */
  take(): Promise<boolean>;
  /** Waits for the others. */
  wait(): Promise<void>;
  release(): Promise<void>;
}

/** A computer that is gone says nothing: the server asks, and frees its locks after a minute. */
const keepalives = { tcp_keepalives_idle: 30, tcp_keepalives_interval: 10, tcp_keepalives_count: 3 };

export function createSessionLock(url: string, name: string): SessionLock {
  let isHeld = false;
  const client = postgres(url, {
    max: 1,
    // the lock goes with the connection
    max_lifetime: null,
    fetch_types: false,
    connection: keepalives,
    onnotice: () => undefined,
    onclose: () => {
      isHeld = false;
    },
  });
  const key = client`hashtextextended(${`baton ${name}`}, 0)`;
  return {
    take: async () => {
      if (isHeld) return true;
      const [row] = await client`select pg_try_advisory_lock(${key}) as taken`;
      isHeld = row?.['taken'] === true;
      return isHeld;
    },
    wait: async () => {
      await client`select pg_advisory_lock(${key})`;
      isHeld = true;
    },
    release: () => client.end({ timeout: 5 }),
  };
}
