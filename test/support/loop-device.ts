import { open, rm } from 'node:fs/promises';
import { run } from '#shared/process/run.ts';

/** Gives `use` a loop device over a sparse file of `bytes`; both are gone afterwards. */
export async function withLoopDevice<T>(
  file: string,
  bytes: number,
  use: (device: string) => Promise<T>,
  sectorBytes: 512 | 4096 = 512,
): Promise<T> {
  const handle = await open(file, 'w');
  await handle.truncate(bytes);
  await handle.close();
  try {
    const device = (
      await run('losetup', ['--find', '--show', '--partscan', '--sector-size', String(sectorBytes), file])
    ).stdout.trim();
    try {
      return await use(device);
    } finally {
      await run('losetup', ['--detach', device]);
    }
  } finally {
    await rm(file, { force: true });
  }
}
