import { createReadStream, readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, normalize } from 'node:path';

/** Serves the files of a folder on a port of its own choice, which it prints: a process apart, as an image server is. */
const [folder = '.'] = process.argv.slice(2);

const server = createServer((request, response) => {
  const path = join(folder, normalize(request.url ?? '/'));
  stat(path).then(
    ({ size }) => {
      const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
      const start = Number(first ?? 0);
      const end = last ? Math.min(Number(last), size - 1) : size - 1;
      response.writeHead(first === undefined ? 200 : 206, {
        'content-length': end + 1 - start,
        ...(first === undefined ? {} : { 'content-range': `bytes ${start}-${end}/${size}` }),
      });
      // a chunk at once: as a stream each would cost more than all that reads it
      if (size <= 1024 * 1024) response.end(readFileSync(path).subarray(start, end + 1));
      else createReadStream(path, { start, end, highWaterMark: 1024 * 1024 }).pipe(response);
    },
    () => {
      response.writeHead(404).end();
    },
  );
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
