import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { toFileKey } from '#agent/boot/device-path.ts';
import { parseLoaderCsv } from '#agent/boot/loader-csv.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** A loader on an EFI system partition, and what its boot entry says. */
export interface Loader {
  /** `\EFI\debian\shimx64.efi` */
  readonly path: string;
  readonly label: string;
  readonly loaderData?: string;
}

export interface FoundLoaders {
  /** In the order in which they are to be tried. */
  readonly loaders: readonly Loader[];
  /** Whether one is where firmware looks that has no boot entry. */
  readonly hasRemovablePath: boolean;
  /** Everything on the partition, as `toFileKey` has it. */
  readonly files: ReadonlySet<string>;
}

/** The firmware's memory is small, and images come from anywhere. */
const mostEntries = 8;
const mostCsvBytes = 64 * 1024;

/** Architectures of firmware: how its loaders' names end, and what their header says (PE/COFF machine types). */
const architectures = {
  x64: { suffix: 'x64', machine: 0x8664 },
  ia32: { suffix: 'ia32', machine: 0x14c },
  arm64: { suffix: 'aa64', machine: 0xaa64 },
  riscv64: { suffix: 'riscv64', machine: 0x5064 },
} as const;

export type FirmwareArchitecture = keyof typeof architectures;

/**
 * The architecture whose loaders this machine's firmware starts: that of the kernel, but for 64-bit machines with 32-bit
 * firmware. @throws AppError `not_supported`
 */
export async function readFirmwareArchitecture(sysRoot = '/sys'): Promise<FirmwareArchitecture> {
  const bits = await readFile(join(sysRoot, 'firmware/efi/fw_platform_size'), 'utf8').catch(() => '');
  const name = process.arch === 'x64' && bits.trim() === '32' ? 'ia32' : process.arch;
  if (Object.hasOwn(architectures, name)) return name as FirmwareArchitecture;
  throw new AppError('not_supported', `loaders of UEFI on ${name} are not known`);
}

/**
 * Finds the loaders below `root`, a mounted EFI system partition, which firmware of this architecture can start: what CSV
 * files name; else the removable path, shim, GRUB, systemd-boot, rEFInd, Windows' own, the best of each folder; else a
 * single unified kernel image.
 * @throws AppError `not_found` with what is there instead, when there is nothing to boot.
 */
export async function findLoaders(root: string, architecture: FirmwareArchitecture): Promise<FoundLoaders> {
  const names = (await readdir(root, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .sort((a, b) => (a < b ? -1 : 1));
  const { suffix, machine } = architectures[architecture];
  const programs = names.filter((name) => name.toLowerCase().endsWith('.efi'));
  const machines = new Map<string, number | undefined>();
  for (const name of programs) machines.set(name, await readMachine(join(root, name)));
  const own = programs.filter((name) => machines.get(name) === machine);
  const removable = own.find((name) => toFileKey(name) === `\\efi\\boot\\boot${suffix}.efi`);
  const loaders = (await fromCsv(root, names, own, suffix)) ?? byName(own, suffix) ?? unifiedImage(own);
  if (!loaders) throw nothingFound(architecture, machines);
  return { loaders, hasRemovablePath: removable !== undefined, files: new Set(names.map(toFileKey)) };
}

async function fromCsv(
  root: string,
  names: readonly string[],
  own: readonly string[],
  suffix: string,
): Promise<readonly Loader[] | undefined> {
  const csvNames = [`boot${suffix}.csv`, 'boot.csv'];
  const files = names.filter((name) => csvNames.includes(lastPart(name)));
  const loaders: Loader[] = [];
  for (const file of files) {
    for (const line of parseLoaderCsv(await readHead(join(root, file), mostCsvBytes), file)) {
      const loader = own.find((name) => toFileKey(name) === toFileKey(line.file));
      // a folder may have both names of CSV files, with the same lines
      if (!loader || helpers.test(lastPart(loader)) || loaders.length === mostEntries) continue;
      const entry = { path: toEfiPath(loader), label: line.label, ...(line.data ? { loaderData: line.data } : {}) };
      if (!loaders.some((each) => isDeepStrictEqual(each, entry))) loaders.push(entry);
    }
  }
  return loaders.length > 0 ? loaders : undefined;
}

/** Programs that shim starts, and firmware's updater. */
const helpers = /^(mm|fb|fwup)|^(fallback|mokmanager)\.efi$/;

/** The first of these names in each folder. GRUB beside shim is started by shim. */
function byName(own: readonly string[], suffix: string): readonly Loader[] | undefined {
  const ranked = [
    new RegExp(`^boot${suffix}\\.efi$`),
    new RegExp(`^shim(${suffix})?([.-].*)?\\.efi$`),
    new RegExp(`^grub(${suffix})?\\.efi$`),
    new RegExp(`^systemd-boot${suffix}\\.efi$`),
    new RegExp(`^refind_${suffix}\\.efi$`),
    /^bootmgfw\.efi$/,
  ];
  const rankOf = (name: string): number => ranked.findIndex((pattern) => pattern.test(lastPart(name)));
  // shim at the removable path wants CSV files, of which there are none, when its fallback program is beside it
  const isLost = (name: string): boolean =>
    rankOf(name) === 0 &&
    own.some(
      (other) => folderOf(other) === folderOf(name) && [`fb${suffix}.efi`, 'fallback.efi'].includes(lastPart(other)),
    );
  const known = own.filter((name) => rankOf(name) >= 0).sort((a, b) => rankOf(a) - rankOf(b) || a.length - b.length);
  const best = known.filter((name) => known.find((other) => folderOf(other) === folderOf(name)) === name);
  const ordered = [...best.filter((name) => !isLost(name)), ...best.filter(isLost)];
  return ordered.length > 0 ? ordered.slice(0, mostEntries).map(toLoader) : undefined;
}

/** systemd's kernel-install puts them there; which of several is meant, no file says. */
function unifiedImage(own: readonly string[]): readonly Loader[] | undefined {
  const images = own.filter((name) => toFileKey(folderOf(name)) === '\\efi\\linux');
  return images.length === 1 ? images.map(toLoader) : undefined;
}

function toLoader(file: string, index: number): Loader {
  return { path: toEfiPath(file), label: `ironic${index + 1}` };
}

function nothingFound(architecture: string, machines: ReadonlyMap<string, number | undefined>): AppError {
  const seen = [...machines].map(([name, machine]) => {
    const known = Object.entries(architectures).find(([, each]) => each.machine === machine)?.[0];
    const what = machine === undefined ? 'no program' : (known ?? `machine type 0x${machine.toString(16)}`);
    return `${toEfiPath(name)} (${what})`;
  });
  return new AppError(
    'not_found',
    `the EFI system partition has no loader for ${architecture} that is known: no CSV file of shim, BOOT, shim, grub, ` +
      'systemd-boot, rEFInd or bootmgfw, nor a single image in EFI/Linux; ' +
      `it has ${seen.slice(0, 10).join(', ') || 'no .efi file'}${seen.length > 10 ? ` and ${seen.length - 10} more` : ''}`,
  );
}

/** A program's machine type; `undefined` for a file that is none (PE/COFF). */
async function readMachine(path: string): Promise<number | undefined> {
  const head = await readHead(path, 4096);
  const start = head.length >= 64 && head.toString('latin1', 0, 2) === 'MZ' ? head.readUInt32LE(0x3c) : head.length;
  const isProgram = start + 6 <= head.length && head.toString('latin1', start, start + 4) === 'PE\0\0';
  return isProgram ? head.readUInt16LE(start + 4) : undefined;
}

async function readHead(path: string, bytes: number): Promise<Buffer> {
  await using handle = await open(path, 'r');
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes), 0, bytes, 0);
  return buffer.subarray(0, bytesRead);
}

function toEfiPath(file: string): string {
  return `\\${file.replaceAll('/', '\\')}`;
}

function folderOf(file: string): string {
  return file.split('/').slice(0, -1).join('/').toLowerCase();
}

function lastPart(file: string): string {
  return (file.split('/').at(-1) ?? '').toLowerCase();
}
