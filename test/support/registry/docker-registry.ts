import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '#shared/errors/app-error.ts';
import { run, start } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { freePort } from '#test/support/free-port.ts';

/** A real registry (Debian's docker-registry) on loopback. */
export interface DockerRegistry extends AsyncDisposable {
  /** `127.0.0.1:5000`, as references name it. */
  readonly host: string;
  log(): string;
}

interface RegistryOptions {
  /** `auth` of the registry's configuration; absent: it asks nobody. */
  readonly auth?: object;
  readonly tls?: { readonly certFile: string; readonly keyFile: string };
  /** Base URL of a blob store, to which it sends all that want a file. */
  readonly redirectsTo?: string;
}

/** @param directory for its configuration and blobs */
export async function startDockerRegistry(directory: string, options: RegistryOptions = {}): Promise<DockerRegistry> {
  const host = `127.0.0.1:${await freePort()}`;
  const { auth, tls, redirectsTo } = options;
  const file = join(directory, 'config.yml');
  await mkdir(join(directory, 'blobs'), { recursive: true });
  // YAML has JSON in it
  const configuration = {
    version: 0.1,
    storage: { filesystem: { rootdirectory: join(directory, 'blobs') } },
    http: { addr: host, ...(tls ? { tls: { certificate: tls.certFile, key: tls.keyFile } } : {}) },
    ...(auth ? { auth } : {}),
    ...(redirectsTo === undefined
      ? {}
      : { middleware: { storage: [{ name: 'redirect', options: { baseurl: redirectsTo } }] } }),
  };
  await writeFile(file, JSON.stringify(configuration));
  const child = start('docker-registry', ['serve', file]);
  let log = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      log += chunk.toString('utf8');
    });
  const ended = child.exited.then((code) => {
    throw new AppError('command_failed', `docker-registry ended with ${code} before it listened:\n${log}`);
  });
  const listens = waitUntil('the registry to listen', () => /listening on/.test(log) || undefined, { everyMs: 20 });
  await Promise.race([listens, ended]);
  ended.catch(() => undefined); // from here on `child.exited` is who closes it waits for
  return {
    host,
    log: () => log,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}

/** Makes `auth` for logins in a file of htpasswd (bcrypt). */
export async function htpasswdAuth(directory: string, user: string, password: string): Promise<object> {
  const file = join(directory, 'htpasswd');
  const { stdout } = await run('htpasswd', ['-nbB', user, password]);
  await writeFile(file, stdout);
  return { htpasswd: { realm: 'baton "test", registry', path: file } };
}
