import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { zstdCompressSync } from 'node:zlib';
import { type ChunkSizes, chunkId } from '#shared/chunks/chunk-index.ts';
import { blockBytes, createCutter } from '#shared/chunks/write-store.ts';

/** Files by path, `default.castr/ab12/….cacnk`. */
export type Files = ReadonlyMap<string, Buffer>;

export interface ChunkedImage {
  readonly index: Buffer;
  readonly store: Files;
}

/** The index and store of `data` cut at `ends`, as `casync make` with its default sizes writes them. */
export function makeChunks(
  data: Buffer,
  ends: readonly number[],
  { min, avg, max }: ChunkSizes = { min: 16_384, avg: 65_536, max: 262_144 },
): ChunkedImage {
  const index = Buffer.alloc(104 + 40 * ends.length);
  const store = new Map<string, Buffer>();
  const header = [48n, 0x96824d9c7b129ff9n, 0xb000000000000000n, BigInt(min), BigInt(avg), BigInt(max)];
  const table = [2n ** 64n - 1n, 0xe75b9e112f17417dn];
  for (const [at, value] of [...header, ...table].entries()) index.writeBigUInt64LE(value, 8 * at);
  for (const [at, end] of ends.entries()) {
    const bytes = data.subarray(ends[at - 1] ?? 0, end);
    const id = chunkId(bytes, 'sha512-256');
    store.set(`default.castr/${id.slice(0, 4)}/${id}.cacnk`, zstdCompressSync(bytes));
    index.writeBigUInt64LE(BigInt(end), 64 + 40 * at);
    index.write(id, 72 + 40 * at, 'hex');
  }
  const tail = [0n, 0n, 48n, BigInt(index.length - 48), 0x4b4f050e5549ecd1n];
  for (const [at, value] of tail.entries()) index.writeBigUInt64LE(value, index.length - 40 + 8 * at);
  return { index, store };
}

/** Cut by content, at blocks. */
export function makeChunksAtBlocks(data: Buffer, sizes: ChunkSizes): ChunkedImage {
  const cut = createCutter(sizes);
  const ends: number[] = [];
  for (let to = blockBytes; to < data.length; to += blockBytes) {
    if (cut(data.subarray(to - blockBytes, to))) ends.push(to);
  }
  return makeChunks(data, [...ends, data.length], sizes);
}

/** @returns the base of the files' addresses, and the paths asked for so far. */
export async function serveFiles(
  file: (path: string, request: number) => Buffer | undefined | Promise<Buffer | undefined>,
): Promise<
  AsyncDisposable & { readonly url: string; readonly requests: readonly string[]; readonly connections: () => number }
> {
  let connections = 0;
  const requests: string[] = [];
  const server = createServer((request, response) => {
    const path = (request.url ?? '').slice(1);
    requests.push(path);
    void Promise.resolve(file(path, requests.length)).then((body) =>
      response.writeHead(body ? 200 : 404, { 'content-length': body?.length ?? 0 }).end(body),
    );
  });
  server.on('connection', () => {
    connections += 1;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    requests,
    connections: () => connections,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
