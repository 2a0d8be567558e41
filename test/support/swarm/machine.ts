import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { createSharing } from '#agent/image/neighbours/share.ts';
import { writeImage } from '#agent/image/write-image.ts';
import { createServerCertificate } from '#agent/tls.ts';
import { systemClock } from '#shared/clock.ts';
import { silentLog } from '#shared/log.ts';
import { askPeer } from '#shared/peers/ask-peer.ts';
import { NeighboursAnswer } from '#shared/wire/neighbours.ts';

/**
 * The agent's writer alone in a process, with its neighbours: `machine.ts ADDRESS DISK BYTES BASE SHA256 NAME`. Says
 * `ready`, writes at the first line of its input, prints what it took, and serves until its input ends.
 */
const [address = '', disk = '', bytes = '', base = '', sha256 = '', name = ''] = process.argv.slice(2);

const certificate = createServerCertificate({ address, hostName: name, curve: 'p384' });
const sharing = createSharing({
  ask: async (request) => {
    const answer = await askPeer('conductor', `${base}/neighbours`, {
      who: 'the conductor',
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...request, name, address }),
    });
    return NeighboursAnswer.parse(answer.body);
  },
  certificate: { ...certificate, minVersion: 'TLSv1.2', ciphers: undefined, curve: 'p384' },
  host: address,
  port: 0,
  clock: systemClock,
  log: silentLog,
  signal: new AbortController().signal,
});
process.stdout.write('ready\n');
process.stdin.resume();
await once(process.stdin, 'data');
const cpuMs = (): number => (process.cpuUsage().user + process.cpuUsage().system) / 1000;
const cpuBefore = cpuMs();
const started = performance.now();
const handle = await open(disk, 'w+');
await handle.truncate(Number(bytes));
const target = { name: disk, sizeBytes: Number(bytes), logicalSectorBytes: 512 };
const written = await writeImage(
  target,
  () => Promise.resolve({ ...target, handle, close: () => handle.close(), sectorBytes: 512, rotational: false }),
  {
    urls: [`${base}/disk.caibx`],
    checksum: { algorithm: 'sha256', hex: sha256 },
    clock: systemClock,
    log: silentLog,
    signal: new AbortController().signal,
    reportProgress: () => undefined,
    ...(process.env['ALONE'] ? {} : { share: sharing.share }),
  },
);
const took = { ms: performance.now() - started, cpuMs: cpuMs() - cpuBefore, origin: written.origin };
const peakKb = Number(/VmHWM:\s+(\d+)/.exec(await readFile('/proc/self/status', 'utf8'))?.[1]);
process.stdout.write(`${JSON.stringify({ ...took, peakKb })}\n`);
await once(process.stdin, 'end');
process.exit(0);
