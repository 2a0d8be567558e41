import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';

export interface LoadBalancer {
  readonly url: string;
  close(): Promise<void>;
}

/** It asks each server so often whether it is ready. */
export const checkMs = 300;

/**
 * HAProxy in front of conductors, as docs/install.md shows it: in turn, to those that `/readyz` says are.
 * `timeout server` is how long what was sent to a conductor that is paused just then hangs; an answer takes seconds when a
 * node is locked (it is tried for two) or the machine is busy, and must not become a 504.
 */
export async function startLoadBalancer(port: number, servers: readonly string[]): Promise<LoadBalancer> {
  const directory = await mkdtemp(join(tmpdir(), 'baton-haproxy-'));
  const file = join(directory, 'haproxy.cfg');
  await writeFile(
    file,
    `
defaults
  mode http
  timeout connect 5s
  timeout check 3s
  timeout client 60s
  timeout server 20s
  option redispatch
  retries 3
frontend api
  bind 127.0.0.1:${port}
  default_backend conductors
backend conductors
  balance roundrobin
  option httpchk GET /readyz
  default-server check inter ${checkMs}ms fall 1 rise 1
${servers.map((url, index) => `  server conductor-${index} ${new URL(url).host}`).join('\n')}
`,
  );
  const haproxy = start('haproxy', ['-db', '-f', file]);
  haproxy.stdout.resume();
  haproxy.stderr.resume();
  const url = `http://127.0.0.1:${port}`;
  const close = async (): Promise<void> => {
    haproxy.kill('SIGKILL');
    await haproxy.exited;
    await rm(directory, { recursive: true, force: true });
  };
  const serves = waitUntil('HAProxy to find a conductor', async () => (await fetch(url)).ok || undefined, {
    timeoutMs: 240_000,
    everyMs: 50,
  });
  try {
    await serves;
  } catch (error) {
    await close();
    throw error;
  }
  return { url, close };
}
