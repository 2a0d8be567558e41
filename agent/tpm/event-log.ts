import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { errorChain } from '#shared/errors/app-error.ts';
import { mostLogBytes } from '#shared/wire/attestation.ts';

/** The log of what firmware and boot loaders have measured, or the reason why there is none. */
export type EventLog = { readonly log: Buffer } | { readonly problem: string };

/** Reads the firmware's event log of a TPM, by its name in sysfs, `tpm0`. Never rejects. */
export async function readEventLog(tpm: string, securityRoot = '/sys/kernel/security'): Promise<EventLog> {
  const path = join(securityRoot, tpm, 'binary_bios_measurements');
  try {
    const log = await readAtMost(path, mostLogBytes + 1);
    if (log.length === 0) return { problem: `the firmware's event log, ${path}, is empty` };
    if (log.length > mostLogBytes) return { problem: `the firmware's event log has more than ${mostLogBytes} bytes` };
    return { log };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return { problem: `the firmware has handed over no event log: there is no ${path}` };
    }
    return { problem: `the firmware's event log can't be read: ${errorChain(error)}` };
  }
}

/** Files of securityfs have no size, and are read in pieces. */
async function readAtMost(path: string, most: number): Promise<Buffer> {
  const file = await open(path);
  try {
    const bytes = Buffer.alloc(most);
    let length = 0;
    while (length < most) {
      const { bytesRead } = await file.read(bytes, length, most - length, null);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return bytes.subarray(0, length);
  } finally {
    await file.close();
  }
}
