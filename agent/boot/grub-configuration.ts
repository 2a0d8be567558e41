import { readdir, readFile } from 'node:fs/promises';
import { resolveInside } from '#agent/inject/resolve-inside.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** How GRUB starts a system without a configuration of its own: its kernels, with what its `/etc/default/grub` says. */
export interface BootableSystem {
  /** Names in `/boot`, newest first, each with its initrd. */
  readonly kernels: readonly { readonly kernel: string; readonly initrd: string | undefined }[];
  /** Variables of `/etc/default/grub` and of the files in `/etc/default/grub.d`. */
  readonly settings: ReadonlyMap<string, string>;
}

const maxSettingsBytes = 256 * 1024;

/**
 * Looks at a root file system that is mounted.
 * @throws AppError `not_found` without a kernel; `not_supported` where `/boot/loader/entries` says what is booted, which
 * GRUB in the ramdisk does not read
 */
export async function readBootableSystem(root: string): Promise<BootableSystem> {
  const entries = await listNames(root, 'boot/loader/entries');
  if (entries.some((name) => name.endsWith('.conf'))) {
    throw new AppError(
      'not_supported',
      "the image boots by entries in /boot/loader/entries, which the ramdisk's GRUB does not read: " +
        'use a whole-disk image, or set BATON_RUN_IMAGE_PROGRAMS',
    );
  }
  const kernels = findKernels(await listNames(root, 'boot'));
  if (kernels.length === 0) throw new AppError('not_found', 'the image has no kernel: no vmlinuz-VERSION in /boot');
  const settings = new Map<string, string>();
  const more = (await listNames(root, 'etc/default/grub.d')).filter((name) => name.endsWith('.cfg')).toSorted();
  for (const path of ['etc/default/grub', ...more.map((name) => `etc/default/grub.d/${name}`)]) {
    readSettings(await readText(root, path), settings);
  }
  return { kernels, settings };
}

/** Red Hat and SUSE call it grub2; their tools look there from then on. @throws AppError `not_found` without a /boot */
export async function findGrubFolder(root: string): Promise<'boot/grub' | 'boot/grub2'> {
  const names = await readdir(await resolveInside(root, 'boot')).catch((cause: unknown) => {
    throw new AppError('not_found', 'the image has no /boot', { cause });
  });
  return names.includes('grub2') && !names.includes('grub') ? 'boot/grub2' : 'boot/grub';
}

/** Kernels among the names of `/boot`, newest first, with the initrds that Debian, Red Hat and SUSE make for them. Pure. */
export function findKernels(names: readonly string[]): BootableSystem['kernels'] {
  const versions = names.flatMap((name) => /^vmlinuz-([\w.+~-]+)$/.exec(name)?.[1] ?? []);
  const isRescue = (version: string): number => Number(version.includes('rescue'));
  return versions
    .toSorted((a, b) => isRescue(a) - isRescue(b) || b.localeCompare(a, 'en', { numeric: true }))
    .map((version) => ({
      kernel: `vmlinuz-${version}`,
      initrd: [`initrd.img-${version}`, `initramfs-${version}.img`, `initrd-${version}`].find((each) =>
        names.includes(each),
      ),
    }));
}

/** `NAME="value"`, `NAME='value'` or `NAME=value`, with a comment behind it. */
const assignment = /^\s*(?:export\s+)?(GRUB_\w+)=(?:"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)'|([^\s"'#]*))[^\S\n]*(?:#.*)?$/gm;

/** Adds a file's assignments of `GRUB_…`, in which earlier ones may be used, as a shell reads them. Pure. */
export function readSettings(text: string, settings: Map<string, string>): void {
  const expand = (value: string): string =>
    value.replaceAll(/\\(["$`\\])|\$\{?(GRUB_\w+)\}?/g, (_, escaped?: string, used?: string) =>
      escaped === undefined ? (settings.get(used ?? '') ?? '') : escaped,
    );
  for (const [, name = '', inDouble, inSingle, bare = ''] of text.matchAll(assignment)) {
    settings.set(name, inSingle ?? expand(inDouble ?? bare));
  }
}

export interface RootPlace {
  /** UUID of the file system that all is on. */
  readonly rootUuid: string;
  /** Path of the system inside it, `/@`; without it, or empty, it is all of it. */
  readonly subvolume?: string;
  /** Whether Linux has to be given it, as it is not the default. */
  readonly isNamed?: boolean;
}

/** The text of `grub.cfg`. Pure. */
export function renderConfiguration(
  { kernels, settings }: BootableSystem,
  { rootUuid, subvolume = '', isNamed = false }: RootPlace,
): string {
  const setting = (name: string): string => settings.get(name)?.trim() ?? '';
  const words = (text: string): string => text.split(/\s+/).filter(Boolean).map(quoteForGrub).join(' ');
  const serial = setting('GRUB_SERIAL_COMMAND');
  const terminals = (own: string): string => words(setting(own) || setting('GRUB_TERMINAL'));
  const [input, output] = [terminals('GRUB_TERMINAL_INPUT'), terminals('GRUB_TERMINAL_OUTPUT')];
  const timeout = Number(setting('GRUB_TIMEOUT') || 5);
  const asked = `${setting('GRUB_CMDLINE_LINUX')} ${setting('GRUB_CMDLINE_LINUX_DEFAULT')}`;
  // before the system's own words, the last of which counts
  const params = `${isNamed ? `${quoteForGrub(`rootflags=subvol=${subvolume.slice(1)}`)} ` : ''}${words(asked)}`;
  return [
    "# Written when Baton deployed this system; the system's own update-grub takes its place.",
    ...(serial.startsWith('serial') ? [words(serial)] : []),
    ...(input === '' ? [] : [`terminal_input ${input}`]),
    ...(output === '' ? [] : [`terminal_output ${output}`]),
    `set timeout=${Number.isFinite(timeout) ? timeout : 5}`,
    `search --no-floppy --fs-uuid --set=root ${rootUuid}`,
    ...kernels.flatMap(({ kernel, initrd }) => [
      `menuentry ${quoteForGrub(`Linux ${kernel.slice('vmlinuz-'.length)}`)} {`,
      `  linux ${`${quoteForGrub(`${subvolume}/boot/${kernel}`)} root=UUID=${rootUuid} ro ${params}`.trim()}`,
      ...(initrd === undefined ? [] : [`  initrd ${quoteForGrub(`${subvolume}/boot/${initrd}`)}`]),
      '}',
    ]),
    '',
  ].join('\n');
}

/** Quotes a word as GRUB's script reads it. */
export function quoteForGrub(word: string): string {
  return /^[\w.,:=/@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** Names in a folder of a mounted root file system; none where there is no such folder. */
export async function listNames(root: string, folder: string): Promise<string[]> {
  return unlessAbsent(readdir(await resolveInside(root, folder)), []);
}

async function readText(root: string, path: string): Promise<string> {
  const text = await unlessAbsent(readFile(await resolveInside(root, path), 'utf8'), '');
  return text.slice(0, maxSettingsBytes);
}

async function unlessAbsent<T>(reading: Promise<T>, otherwise: T): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return otherwise;
    throw new AppError('storage_error', "read the image's boot configuration", { cause: error });
  }
}
