import { once } from 'node:events';
import { join } from 'node:path';
import { start } from '#shared/process/run.ts';

/** Serves a folder in a process apart. */
export async function withFileServer<T>(folder: string, use: (base: string) => Promise<T>): Promise<T> {
  const server = start(process.execPath, [join(import.meta.dirname, 'file-server.ts'), folder]);
  try {
    const [port] = (await once(server.stdout, 'data')) as [Buffer];
    return await use(`http://127.0.0.1:${port.toString().trim()}`);
  } finally {
    server.kill();
    await server.exited;
  }
}
