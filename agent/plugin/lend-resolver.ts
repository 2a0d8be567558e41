import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { resolveInside } from '#agent/inject/resolve-inside.ts';

/**
 * Lets a deployed system resolve names with the ramdisk's name servers, where its own `/etc/resolv.conf` is a link into
 * `/run`, which is empty here: nothing of it stays on the disk. A file of its own is left as it is.
 */
export async function lendResolver(root: string, resolver = '/etc/resolv.conf'): Promise<void> {
  const target = await resolveInside(root, 'etc/resolv.conf');
  if (!target.startsWith(join(root, 'run/'))) return;
  let text: string;
  try {
    text = await readFile(resolver, 'utf8');
  } catch (error) {
    // a network without name servers
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  await mkdir(dirname(target), { recursive: true });
  await writeFile(target, text);
}
