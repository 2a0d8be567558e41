import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseMacAddress } from '#shared/mac-address.ts';

export interface PhysicalInterface {
  readonly name: string;
  /** Lower case, colons. */
  readonly macAddress: string;
  /** `/sys/class/net/<name>` */
  readonly directory: string;
}

/** The network cards of this machine by name: those with a device behind them, so neither loopback nor virtual ones. */
export async function listPhysicalInterfaces(sysRoot = '/sys'): Promise<readonly PhysicalInterface[]> {
  const root = join(sysRoot, 'class/net');
  const names = (await readdir(root)).sort();
  const found = await Promise.all(
    names.map(async (name): Promise<readonly PhysicalInterface[]> => {
      const directory = join(root, name);
      const macAddress = parseMacAddress((await readAttribute(directory, 'address')) ?? '');
      return macAddress !== undefined && (await exists(join(directory, 'device')))
        ? [{ name, macAddress, directory }]
        : [];
    }),
  );
  return found.flat();
}

/** A sysfs attribute, trimmed; `null` when the kernel doesn't offer it, refuses it (a link that is down) or it is empty. */
export async function readAttribute(directory: string, attribute: string): Promise<string | null> {
  try {
    return (await readFile(join(directory, attribute), 'utf8')).trim() || null;
  } catch {
    return null;
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
