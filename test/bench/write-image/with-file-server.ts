import { once } from 'node:events';
import { join } from 'node:path';
import { start } from '#shared/process/run.ts';

/** Serves a folder in a process apart. @param inside what its command begins with, as of `withSlowLoopback` */
export async function withFileServer<T>(
  folder: string,
  use: (base: string) => Promise<T>,
  inside: readonly string[] = [],
): Promise<T> {
  const [program, ...args] = [...inside, process.execPath, join(import.meta.dirname, 'file-server.ts'), folder];
  const server = start(program, args);
  try {
    const [port] = (await once(server.stdout, 'data')) as [Buffer];
    return await use(`http://127.0.0.1:${port.toString().trim()}`);
  } finally {
    server.kill();
    await server.exited;
  }
}
