/** A line of `/etc/fstab`. */
export interface FstabEntry {
  /** `UUID=…`, `/dev/sda2`, `tmpfs` */
  readonly source: string;
  /** Folder that it is mounted on, without a slash at its end but for `/`. */
  readonly point: string;
  readonly options: readonly string[];
}

/** Lines of `/etc/fstab` that mount at a folder. Pure. */
export function parseFstab(text: string): readonly FstabEntry[] {
  const lines = text.split('\n').map((line) => line.trim().split(/\s+/).map(unescaped));
  return lines.flatMap(([source = '', point = '', , options = '']) =>
    source.startsWith('#') || !point.startsWith('/')
      ? []
      : [{ source: source.replaceAll(/["']/g, ''), point: plain(point), options: options.split(',') }],
  );
}

/**
 * Finds the mount that hides a path of the root file system once its system runs: the deepest, and of several at one folder
 * the last. One that waits for a person (`noauto`) hides nothing. Pure.
 * @param path from the root, without links
 */
export function findMountOver(entries: readonly FstabEntry[], path: string): FstabEntry | undefined {
  const over = entries.filter(
    ({ point, options }) =>
      point !== '/' &&
      (path === point || path.startsWith(`${point}/`)) &&
      (!options.includes('noauto') || options.includes('x-systemd.automount')),
  );
  // of one length the order stays
  return over.toSorted((one, other) => one.point.length - other.point.length).at(-1);
}

/** A source by one of its tags: `{ tag: 'UUID', value: … }`; `undefined` for one by any other name. Pure. */
export function tagOf(source: string): { readonly tag: Tag; readonly value: string } | undefined {
  const [, tag, value] = /^(UUID|LABEL|PARTUUID|PARTLABEL)=(.+)$/.exec(source) ?? [];
  if (tag !== undefined && value !== undefined) return { tag: tag as Tag, value };
  const [, kind = '', name] = /^\/dev\/disk\/by-(uuid|label|partuuid|partlabel)\/(.+)$/.exec(source) ?? [];
  return name === undefined ? undefined : { tag: kind.toUpperCase() as Tag, value: name };
}

export type Tag = 'UUID' | 'LABEL' | 'PARTUUID' | 'PARTLABEL';

/** `\040` is a space. */
function unescaped(word: string): string {
  return word.replaceAll(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}

function plain(path: string): string {
  return `/${path.split('/').filter(Boolean).join('/')}`;
}
