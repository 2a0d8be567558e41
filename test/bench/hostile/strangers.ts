import { connect } from 'node:net';
import { systemClock } from '#shared/clock.ts';

/**
 * `strangers.ts URL COUNT`: each begins a report of 16 MiB to `/v1/continue_inspection`, sends the first part at once and then
 * drips; who is turned away comes again. From as many addresses of loopback. Prints `ready` when all have begun.
 */

const [url = '', count = '0'] = process.argv.slice(2);
const ending = new AbortController();
process.once('SIGTERM', () => ending.abort());
const { hostname, port } = new URL(url);
const first = Buffer.alloc(256 * 1024, ' ');
let begun = 0;

async function stranger(index: number): Promise<void> {
  const localAddress = `127.0.${1 + Math.floor(index / 250)}.${1 + (index % 250)}`;
  while (!ending.signal.aborted) {
    await report(localAddress);
    await systemClock.sleep(500, ending.signal).catch(() => undefined);
  }
}

function report(localAddress: string): Promise<void> {
  const socket = connect({ host: hostname, port: Number(port), localAddress });
  const hangUp = (): void => void socket.destroy();
  ending.signal.addEventListener('abort', hangUp, { once: true });
  socket.write(
    `POST /v1/continue_inspection HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${16 * 1024 * 1024}\r\n\r\n`,
  );
  socket.write(first, () => {
    begun += 1;
    if (begun === Number(count)) process.stdout.write('ready\n');
  });
  const dripping = setInterval(() => socket.write(' '), 100);
  return new Promise((resolve) => {
    socket.resume();
    socket.on('error', () => undefined);
    socket.once('close', () => {
      clearInterval(dripping);
      ending.signal.removeEventListener('abort', hangUp);
      resolve();
    });
  });
}

await Promise.all(Array.from({ length: Number(count) }, (_, index) => stranger(index)));
