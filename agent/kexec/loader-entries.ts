/** An entry of `/loader/entries` (Boot Loader Specification, type 1), variables of GRUB in it as they are. */
export interface LoaderEntry {
  /** Its file's name without `.conf`. */
  readonly id: string;
  readonly title: string;
  readonly linux: string;
  readonly initrds: readonly string[];
  readonly options: string | undefined;
}

/** The entries in the menu's order: newest first, rescue entries last. Files without a kernel are left out. Pure. */
export function readLoaderEntries(files: ReadonlyMap<string, string>): readonly LoaderEntry[] {
  return [...files]
    .map(([name, text]) => readEntry(name.slice(0, -'.conf'.length), text))
    .filter(({ linux }) => linux !== '')
    .toSorted((a, b) => b.id.localeCompare(a.id, 'en', { numeric: true }));
}

function readEntry(id: string, text: string): LoaderEntry {
  const values = (key: string): string[] =>
    [...text.matchAll(new RegExp(`^[ \\t]*${key}[ \\t]+(.*)$`, 'gm'))].map(([, value = '']) => value.trim());
  const options = values('options');
  return {
    id,
    title: values('title')[0] ?? id,
    linux: values('linux')[0] ?? '',
    initrds: values('initrd')
      .flatMap((line) => line.split(/\s+/))
      .filter(Boolean),
    options: options.length > 0 ? options.join(' ') : undefined,
  };
}

/** Variables of `grubenv`: `NAME=value` lines behind its header, filled up with `#`. Pure. */
export function readGrubEnvironment(text: string): ReadonlyMap<string, string> {
  return new Map([...text.matchAll(/^(\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]));
}
