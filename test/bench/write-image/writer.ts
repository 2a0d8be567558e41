import { readFile } from 'node:fs/promises';
import { type Disk, openDisk } from '#agent/image/disk/disk.ts';
import { writeImage } from '#agent/image/write-image.ts';
import { runLsblk } from '#agent/storage/lsblk.ts';
import { systemClock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';

/** The agent's writer alone in a process: `writer.ts DEVICE URL SHA256` prints what it took. */
const [name = '', url = '', sha256 = ''] = process.argv.slice(2);

const [device] = await runLsblk(run, [name]);
if (device === undefined) throw new AppError('not_found', `no device ${name}`);
const started = performance.now();
const opened: Disk[] = [];
const open = async (): Promise<Disk> => {
  opened.push(await openDisk(device));
  return opened[0] as Disk;
};
const written = await writeImage(device, open, {
  urls: [url],
  checksum: { algorithm: 'sha256', hex: sha256 },
  clock: systemClock,
  log: silentLog,
  signal: new AbortController().signal,
  reportProgress: () => undefined,
});
const ms = performance.now() - started;
await opened[0]?.close();
const { user, system } = process.cpuUsage();
const peakKb = Number(/VmHWM:\s+(\d+)/.exec(await readFile('/proc/self/status', 'utf8'))?.[1]);
process.stdout.write(JSON.stringify({ ms, cpuMs: (user + system) / 1000, peakKb, ...written, head: undefined }));
