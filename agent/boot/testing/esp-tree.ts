import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

const machines = { 'x86-64': 0x8664, 'Intel 80386': 0x14c, Aarch64: 0xaa64 } as const;

/** The beginning of a program for UEFI, as far as its header says for which machine it is. */
export function programFor(machine: keyof typeof machines): Buffer {
  const head = Buffer.alloc(512);
  head.write('MZ');
  head.writeUInt32LE(128, 0x3c);
  head.write('PE\0\0', 128);
  head.writeUInt16LE(machines[machine], 132);
  return head;
}

/** Makes files below `root`, by their path. */
export async function putFiles(root: string, files: Readonly<Record<string, string | Buffer>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
}

/** Makes the files that `file` has described, programs and others, below `root`. */
export async function putDescribed(root: string, listing: string): Promise<void> {
  for (const line of listing.trim().split('\n')) {
    const [, path = '', what = ''] = /^(.*?): (.*)$/.exec(line) ?? [];
    const machine = (['x86-64', 'Intel 80386', 'Aarch64'] as const).find((each) => what.includes(each));
    await putFiles(root, { [path]: machine ? programFor(machine) : what });
  }
}
