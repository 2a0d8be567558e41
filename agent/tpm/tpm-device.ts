import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { readAttribute } from '#agent/machine/network-interfaces.ts';
import type { TpmTransport } from '#agent/tpm/tpm.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Bytes of the longest answer that Linux passes on. */
const longestAnswer = 4096;

export const noTpm = 'no TPM 2.0';

/**
 * Finds the machine's TPM 2.0: the name of its folder in sysfs, `tpm0`; of several the one that the kernel has found first,
 * which is the one with the firmware's event log.
 * @throws AppError `not_found`: there is none, or one of another version
 */
export async function findTpm(sysRoot = '/sys'): Promise<string> {
  const root = join(sysRoot, 'class/tpm');
  const names = (await listFolder(root)).filter((name) => /^tpm\d+$/.test(name)).sort();
  const versions = await Promise.all(names.map((name) => readAttribute(join(root, name), 'tpm_version_major')));
  const found = names.find((_, index) => versions[index] === '2');
  if (found !== undefined) return found;
  if (names.length === 0) throw new AppError('not_found', noTpm);
  const others = names.map(
    (name, index) => `${name} ${versions[index] === '1' ? 'is a TPM 1.2' : 'has no known version'}`,
  );
  throw new AppError('not_found', `${noTpm}: ${others.join(', ')}`);
}

/**
 * Opens `/dev/tpmrm0`: the kernel's resource manager, which forgets our keys and sessions when it is closed.
 * @throws AppError `unavailable`
 */
export async function openTpmDevice(tpm: string): Promise<TpmTransport> {
  const path = `/dev/${tpm.replace('tpm', 'tpmrm')}`;
  const device = await open(path, 'r+').catch((cause: unknown) => {
    throw new AppError('unavailable', `open the TPM at ${path}`, { cause });
  });
  return {
    exchange: async (command) => {
      const { bytesWritten } = await device.write(command, 0, command.length, null);
      if (bytesWritten !== command.length) {
        throw new AppError('agent_error', `the TPM at ${path} has taken ${bytesWritten} of ${command.length} bytes`);
      }
      const { buffer, bytesRead } = await device.read(Buffer.alloc(longestAnswer), 0, longestAnswer, null);
      return buffer.subarray(0, bytesRead);
    },
    close: () => void device.close().catch(() => undefined), // of a TPM that hangs when it answers, if ever
  };
}

async function listFolder(path: string): Promise<string[]> {
  try {
    return await readdir(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
