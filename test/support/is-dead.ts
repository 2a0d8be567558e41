import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';

/** Reads what the kernel says of a process, a line; `undefined` when it is gone, or never was. */
const stat = (pid: string | undefined) => readFile(`/proc/${Number(pid)}/stat`, 'utf8').catch(() => undefined);

/** Waits until a process is gone, or a zombie that nobody has buried yet; one that never was is. */
export async function isDead(pid: string | undefined): Promise<void> {
  await expect.poll(async () => (await stat(pid)) ?? ') Z').toMatch(/\) [ZX]/);
}

/** Waits until a process of ours is gone: its end has been seen here. */
export async function isGone(pid: string): Promise<void> {
  await expect.poll(() => stat(pid)).toBeUndefined();
}
