import { constants, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** EFI variables through efivarfs: one file each, `Name-GUID`, four bytes of attributes before the data. */

export const globalVariables = '8be4df61-93ca-11d2-aa0d-00e098032b8c';
export const securityDatabase = 'd719b2cb-3d3a-4596-a3bc-dad00e67656f';

/** UEFI 8.2: NON_VOLATILE, BOOTSERVICE_ACCESS, RUNTIME_ACCESS, TIME_BASED_AUTHENTICATED_WRITE_ACCESS. */
export const plainAttributes = 0x07;
export const authenticatedAttributes = 0x27;

export interface EfiVariables {
  /** Names in a vendor's namespace, sorted; empty where the machine was not started by EFI. */
  list(guid: string): Promise<readonly string[]>;
  read(name: string, guid?: string): Promise<Buffer | undefined>;
  write(name: string, data: Buffer, options?: { readonly guid?: string; readonly attributes?: number }): Promise<void>;
  delete(name: string): Promise<void>;
}

/** @param root `/sys/firmware/efi/efivars`; another folder in tests */
export function efiVariables(root: string, run: Run): EfiVariables {
  const path = (name: string, guid = globalVariables): string => join(root, `${name}-${guid}`);
  /** The kernel protects variables that it does not know; lifting that is part of writing them. */
  const unprotected = async (file: string, act: () => Promise<void>): Promise<void> => {
    try {
      await act();
    } catch (error) {
      if (!isCode(error, 'EPERM')) throw error;
      await run('chattr', ['-i', file]);
      await act();
    }
  };
  const attempt = async (what: string, act: () => Promise<void>): Promise<void> => {
    try {
      await act();
    } catch (cause) {
      throw new AppError('command_failed', `${what}: the firmware refuses it`, { cause });
    }
  };
  return {
    list: async (guid) => {
      try {
        const suffix = `-${guid}`;
        const names = (await readdir(root)).filter((name) => name.endsWith(suffix));
        return names.map((name) => name.slice(0, -suffix.length)).sort();
      } catch (error) {
        if (isCode(error, 'ENOENT')) return [];
        throw new AppError('command_failed', `list the EFI variables in ${root}`, { cause: error });
      }
    },
    read: async (name, guid) => {
      try {
        return (await readFile(path(name, guid))).subarray(4);
      } catch (error) {
        if (isCode(error, 'ENOENT')) return undefined;
        throw new AppError('command_failed', `read the EFI variable ${name}`, { cause: error });
      }
    },
    write: (name, data, options = {}) => {
      const file = path(name, options.guid);
      const head = Buffer.alloc(4);
      head.writeUInt32LE(options.attributes ?? plainAttributes);
      return attempt(`set the EFI variable ${name}`, () =>
        unprotected(file, () => writeAtOnce(file, Buffer.concat([head, data]))),
      );
    },
    delete: (name) =>
      attempt(`delete the EFI variable ${name}`, () => unprotected(path(name), () => rm(path(name), { force: true }))),
  };
}

/** One write call is one call of the firmware: half a variable must never get there. */
async function writeAtOnce(file: string, content: Buffer): Promise<void> {
  const handle = await open(file, constants.O_WRONLY | constants.O_CREAT, 0o644);
  try {
    await handle.write(content);
  } finally {
    await handle.close();
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
