import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, normalize } from 'node:path';

/** A blob store behind a registry, which refuses all that show it an Authorization header, as S3 does. */
export interface BlobStore extends AsyncDisposable {
  readonly url: string;
  /** Statuses of its answers. */
  readonly answers: readonly number[];
}

/** @param folder with the registry's files */
export async function startBlobStore(folder: string): Promise<BlobStore> {
  const answers: number[] = [];
  const server = createServer((request, response) => {
    const end = (status: number, content?: Buffer): void => {
      answers.push(status);
      response.writeHead(status).end(content);
    };
    if (request.headers.authorization !== undefined) {
      end(400);
      return;
    }
    const { pathname } = new URL(request.url ?? '/', 'http://store');
    readFile(join(folder, normalize(pathname))).then(
      (content) => end(200, content),
      () => end(404),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answers,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
