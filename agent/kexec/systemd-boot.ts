import type { BootChoice } from '#agent/kexec/grub-menu.ts';
import { notUnderstood } from '#agent/kexec/grub-script.ts';
import { type LoaderEntry, readLoaderEntries } from '#agent/kexec/loader-entries.ts';
import { listImageNames, readImagePart, readImageText, sizeOfImageFile } from '#agent/kexec/read-image-file.ts';
import { peHeadBytes, readSections } from '#agent/kexec/unified-image.ts';
import { personPattern } from '#shared/person-pattern.ts';

/** Files that systemd-boot finds on one file system. */
export interface SystemdBootFiles {
  readonly hasLoader: boolean;
  /** `default` of `loader.conf`. */
  readonly pattern: string | undefined;
  /** By file name, in the menu's order as far as it is known. */
  readonly entries: readonly SystemdBootEntry[];
}

export interface SystemdBootEntry {
  /** Its file's name. */
  readonly id: string;
  readonly kind: 'entry' | 'unified image';
  /** @throws AppError `not_supported` */
  readonly read: () => Promise<BootChoice>;
}

const entriesFolder = 'loader/entries';
const imagesFolder = 'EFI/Linux';
const maxEntries = 100;
const maxEntryBytes = 64 * 1024;
const maxCommandLineBytes = 2047;

export async function readSystemdBoot(root: string): Promise<SystemdBootFiles> {
  const names = (await listImageNames(root, entriesFolder)).filter((name) => name.endsWith('.conf'));
  const images = (await listImageNames(root, imagesFolder)).filter((name) => /\.efi$/i.test(name));
  if (names.length + images.length > maxEntries) throw notUnderstood(`more than ${maxEntries} entries of systemd-boot`);
  const files = new Map<string, string>();
  for (const name of names) {
    files.set(name, (await readImageText(root, `${entriesFolder}/${name}`, maxEntryBytes)) ?? '');
  }
  const [other] = [...files].find(([, text]) => valueOf(text, 'linux') === undefined) ?? [];
  if (other !== undefined) throw notUnderstood(`${other} starts no kernel`);
  const addons = await listImageNames(root, 'loader/addons');
  const conf = (await readImageText(root, 'loader/loader.conf', maxEntryBytes)) ?? '';
  const preferred = valueOf(conf, 'preferred');
  if (preferred !== undefined) throw notUnderstood(`preferred ${preferred} in loader.conf`);
  return {
    hasLoader: (await listImageNames(root, 'EFI/systemd')).some((name) => /^systemd-boot\w+\.efi$/i.test(name)),
    pattern: /^[ \t]*default[ \t]+(\S+)/m.exec(conf)?.[1],
    entries: [
      ...sortEntries(files).map((entry) => ({
        id: `${entry.id}.conf`,
        kind: 'entry' as const,
        read: () => Promise.resolve(chooseEntry(entry, files.get(`${entry.id}.conf`) ?? '')),
      })),
      ...images.map((name) => ({
        id: name,
        kind: 'unified image' as const,
        read: async () => {
          const extra = await listImageNames(root, `${imagesFolder}/${name}.extra.d`);
          if (addons.length + extra.length > 0) throw notUnderstood(`${name} has add-ons`);
          return readUnifiedImage(root, name);
        },
      })),
    ],
  };
}

/**
 * Sorts entries as systemd-boot does: by sort-key and machine-id, those without behind; then the newest version first.
 */
function sortEntries(files: ReadonlyMap<string, string>): readonly LoaderEntry[] {
  const key = (entry: LoaderEntry, name: string): string => valueOf(files.get(`${entry.id}.conf`) ?? '', name) ?? '';
  const compare = (a: LoaderEntry, b: LoaderEntry): number => {
    const [first, second] = [key(a, 'sort-key'), key(b, 'sort-key')];
    if ((first === '') !== (second === '')) return first === '' ? 1 : -1;
    if (first === '') return 0; // by their names, as they are
    return (
      order(first, second) ||
      order(key(a, 'machine-id'), key(b, 'machine-id')) ||
      key(b, 'version').localeCompare(key(a, 'version'), 'en', { numeric: true })
    );
  };
  return readLoaderEntries(files).toSorted(compare);
}

function order(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

function valueOf(text: string, key: string): string | undefined {
  return new RegExp(`^[ \\t]*${key}[ \\t]+(.*?)[ \\t]*$`, 'm').exec(text)?.[1];
}

/** Keys that load something beside the kernel, or in its place. */
const foreignKeys = ['devicetree', 'devicetree-overlay', 'efi', 'uki', 'uki-url', 'profile', 'extra', 'architecture'];

function chooseEntry({ id, title, linux, initrds, options }: LoaderEntry, text: string): BootChoice {
  const foreign = foreignKeys.find((key) => valueOf(text, key) !== undefined);
  if (foreign !== undefined) throw notUnderstood(`${foreign} in ${id}.conf`);
  const toPath = (path: string) => ({ device: undefined, path });
  return { title, kernel: toPath(linux), initrds: initrds.map(toPath), commandLine: bounded(id, options ?? '') };
}

function bounded(id: string, commandLine: string): string {
  if (Buffer.byteLength(commandLine) <= maxCommandLineBytes) return commandLine;
  throw notUnderstood(`the command line of ${id} is longer than ${maxCommandLineBytes} bytes`);
}

async function readUnifiedImage(root: string, name: string): Promise<BootChoice> {
  const path = `${imagesFolder}/${name}`;
  const bytes = await sizeOfImageFile(root, path);
  const sections = readSections(
    await readImagePart(root, path, { offset: 0, length: Math.min(bytes, peHeadBytes) }),
    bytes,
  );
  const textOf = async (section: string): Promise<string> => {
    const part = sections.get(section);
    if (!part) return '';
    if (part.length > maxEntryBytes) throw notUnderstood(`${section} of ${name} is larger than ${maxEntryBytes} bytes`);
    return (await readImagePart(root, path, part)).toString('utf8').replace(/[\0\s]+$/, '');
  };
  const commandLine = bounded(name, (await textOf('.cmdline')).replaceAll('\n', ' '));
  const title = /^PRETTY_NAME="?([^"\n]*)/m.exec(await textOf('.osrel'))?.[1];
  const partOf = (section: string) => {
    const part = sections.get(section);
    return part && part.length > 0 ? [{ device: undefined, path, part }] : [];
  };
  const [kernel] = partOf('.linux');
  if (!kernel) throw notUnderstood(`the kernel in ${name} is empty`);
  // microcode is to be found first
  return { title: title ?? name, kernel, initrds: [...partOf('.ucode'), ...partOf('.initrd')], commandLine };
}

/**
 * The entry that systemd-boot starts by itself. Pure.
 * @param variables names in efivarfs: what a system has set there goes before its files
 * @throws AppError `not_supported` where that is not certain
 */
export function chooseSystemdBootEntry<Entry extends Pick<SystemdBootEntry, 'id' | 'kind'>>(
  entries: readonly Entry[],
  pattern: string | undefined,
  variables: readonly string[],
): Entry {
  const choice = variables.find((name) => /^LoaderEntry(OneShot|Default|Preferred)-/.test(name));
  if (choice !== undefined) throw notUnderstood(`the EFI variable ${choice} chooses the entry`);
  const counted = entries.find(({ id }) => /\+\d+(-\d+)?\.\w+$/.test(id));
  if (counted) throw notUnderstood(`boots of ${counted.id} are counted`);
  if (pattern !== undefined && /^@|[[\]\\]/.test(pattern)) throw notUnderstood(`default ${pattern} in loader.conf`);
  const named = pattern === undefined ? [] : entries.filter(({ id }) => matches(id, pattern));
  const candidates = named.length > 0 ? named : entries;
  const [first, ...others] = candidates;
  if (!first) throw notUnderstood('systemd-boot has no entry');
  if (others.length > 0 && candidates.some(({ kind }) => kind === 'unified image')) {
    throw notUnderstood(
      `which of ${candidates.map(({ id }) => id).join(', ')} is started: name one as default in loader.conf`,
    );
  }
  return first;
}

function matches(id: string, pattern: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|/]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return personPattern(`^${source}$`, 'i').test(id);
}
