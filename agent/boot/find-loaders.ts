import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AppError } from '#shared/errors/app-error.ts';

/** A loader on an EFI system partition and the name that its boot entry gets. */
export interface Loader {
  /** `\EFI\debian\shimx64.efi` */
  readonly path: string;
  readonly label: string;
}

/** Files by which shim and Windows name their loader and its label (agent-protocol.md §6.4). */
const csvNames: ReadonlySet<string> = new Set(['bootx64.csv', 'bootaa64.csv', 'boot.csv']);
/** The loaders known by name, in the order of preference. */
const loaderNames = [
  'bootx64.efi',
  'bootaa64.efi',
  'bootia32.efi',
  'bootia64.efi',
  'bootarm.efi',
  'bootriscv64.efi',
  'bootriscv32.efi',
  'bootriscv128.efi',
  'grubaa64.efi',
  'winload.efi',
];

/**
 * The loaders below `root`, a mounted EFI system partition: the first CSV file's alone, else every known one.
 * Executable bits don't count as they do in Ironic: FAT has none.
 * @throws AppError `not_found` when there is nothing to boot.
 */
export async function findLoaders(root: string): Promise<readonly Loader[]> {
  const files = (await readdir(root, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .sort((a, b) => (a < b ? -1 : 1));
  for (const file of files.filter((name) => csvNames.has(lastPart(name)))) {
    const loader = parseLoaderCsv(await readFile(join(root, file)), dirname(file));
    if (loader && files.some((each) => toEfiPath(each).toLowerCase() === loader.path.toLowerCase())) return [loader];
  }
  const known = files
    .filter((name) => loaderNames.includes(lastPart(name)))
    .sort((a, b) => loaderNames.indexOf(lastPart(a)) - loaderNames.indexOf(lastPart(b)));
  if (known.length === 0) {
    throw new AppError('not_found', `the EFI system partition has no loader (looked for ${loaderNames.join(', ')})`);
  }
  return known.map((file, index) => ({ path: toEfiPath(file), label: `ironic${index + 1}` }));
}

/** Parses shim's `BOOTX64.CSV`: UTF-16, `loader file,label,…`; `undefined` when it has no such line. */
export function parseLoaderCsv(bytes: Buffer, folder: string): Loader | undefined {
  const isUtf16 = bytes.length >= 2 && (bytes.readUInt16LE(0) === 0xfeff || bytes[1] === 0);
  const text = bytes.toString(isUtf16 ? 'utf16le' : 'utf8').replace(/^\ufeff/, '');
  const [file, label] = (text.split(/\r?\n/)[0] ?? '').split(',').map((field) => field.trim());
  return file && label ? { path: toEfiPath(join(folder, file)), label } : undefined;
}

function toEfiPath(file: string): string {
  return `\\${file.replaceAll('/', '\\')}`;
}

function lastPart(file: string): string {
  return (file.split('/').at(-1) ?? '').toLowerCase();
}
