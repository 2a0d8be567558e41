import { readFile } from 'node:fs/promises';
import { AppError } from '#shared/errors/app-error.ts';

/** Left to the kernel and the agent: the ramdisk is in memory too, and an agent that is killed tells nothing. */
const reserveBytes = 160 * 1024 * 1024;

/**
 * How many MiB a memory test may take: a share of what is free, or a number of bytes.
 * @throws AppError `invalid_argument` when there is less than that.
 */
export function chooseMegabytes(
  availableBytes: number,
  amount: { readonly percent: number } | { readonly bytes: number },
): number {
  const usable = Math.max(0, availableBytes - reserveBytes);
  const wanted = 'percent' in amount ? (usable * Math.min(amount.percent, 100)) / 100 : amount.bytes;
  const megabytes = Math.floor(Math.min(wanted, usable) / 1024 ** 2);
  if (wanted > usable || megabytes < 16) {
    const mib = (bytes: number): string => `${Math.floor(bytes / 1024 ** 2)} MiB`;
    throw new AppError(
      'invalid_argument',
      `driver_info.agent_burnin_vm_vm-bytes asks for ${mib(wanted)} of memory: ${mib(usable)} can be tested`,
    );
  }
  return megabytes;
}

export async function readAvailableBytes(file = '/proc/meminfo'): Promise<number> {
  const found = /^MemAvailable:\s+(\d+) kB$/m.exec(await readFile(file, 'utf8'));
  if (!found) throw new AppError('internal', `${file} does not show how much memory is free`);
  return Number(found[1]) * 1024;
}
