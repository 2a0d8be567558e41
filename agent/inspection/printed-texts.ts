import { readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { listPhysicalInterfaces } from '#agent/machine/network-interfaces.ts';
import { lsblkArguments, parseLsblk } from '#agent/storage/lsblk.ts';
import type { Log } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';

/** Texts by the command or file that printed them, in the names that `test/recorded` has. */
export type PrintedTexts = Readonly<Record<string, string>>;

/** Longer ones are not such as are read here: a machine of a thousand disks is left out, not its report. */
const longestText = 1024 * 1024;
const mostDisks = 200;

const dmiFiles = ['sys_vendor', 'product_name', 'product_serial', 'product_uuid'].map((name) => `class/dmi/id/${name}`);

/**
 * Reads what programs and kernel print of this machine, out of which its inventory is made: `baton node record` shows it
 * where the inventory is wrong. What can't be had, or is too long, is left out.
 */
export async function readPrintedTexts({ run, log }: { readonly run: Run; readonly log: Log }): Promise<PrintedTexts> {
  const texts: Record<string, string> = {};
  const add = async (name: string, read: () => Promise<string>): Promise<string> => {
    try {
      const text = await read();
      if (text !== '' && text.length <= longestText) texts[name] = text;
      return text;
    } catch (error) {
      log.info({ err: error, text: name }, 'left out of the printed texts');
      return '';
    }
  };
  const printed = (name: string, command: string, args: readonly string[]) =>
    add(name, async () => (await run(command, args, { timeoutMs: 30_000 })).stdout);
  const disks = disksIn(await printed('lsblk --json', 'lsblk', lsblkArguments(['--all'])));
  for (const disk of disks.slice(0, mostDisks)) {
    const args = ['info', '--query=property', `--name=${disk}`];
    await printed(['udevadm', ...args].join(' '), 'udevadm', args);
  }
  await printed('dmidecode', 'dmidecode', []);
  for (const file of dmiFiles) await add(`/sys/${file}`, () => readFile(join('/sys', file), 'utf8'));
  for (const { name, directory } of await listPhysicalInterfaces().catch(() => [])) {
    const at = `/sys/class/net/${name}`;
    await add(`${at}/address`, () => readFile(join(directory, 'address'), 'utf8'));
    await add(`readlink ${at}/device/driver`, () => readlink(join(directory, 'device/driver')));
  }
  return texts;
}

function disksIn(lsblk: string): readonly string[] {
  try {
    return parseLsblk(lsblk).flatMap(({ name, type }) => (type === 'disk' ? [name] : []));
  } catch {
    // it goes as it is: why it can't be read is the question then
    return [];
  }
}
