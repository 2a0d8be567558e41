import { relative } from 'node:path';
import type { FoundPartition, ImageTarget } from '#agent/inject/find-partition.ts';
import { type FstabEntry, findMountOver, parseFstab, tagOf } from '#agent/inject/fstab.ts';
import { resolveInside } from '#agent/inject/resolve-inside.ts';
import { readBeginning } from '#agent/inject/root-subvolume.ts';
import { mountHarmless, withMounted } from '#agent/storage/file-systems/mount.ts';
import type { ProbedPartition } from '#agent/storage/lsblk.ts';
import { blkidProperty, runBlkid } from '#agent/storage/partition-table.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { InjectedFile } from '#shared/in-band/injected-file.ts';
import type { Run } from '#shared/process/run.ts';

/** Place of a file once the system runs. */
export interface MountedPlace extends FoundPartition {
  /** From the top of what is mounted there. */
  readonly path: string;
}

/** Mounts that lead to other mounts, as `bind` does, are followed so often. */
const maxSteps = 10;

/**
 * Finds where a file has to be for the deployed system to see it: below a folder that the root's `/etc/fstab` mounts something
 * else on (`/boot`, Ubuntu's `@home`), it would be hidden. Where the operator named the partition, it stays in that file system.
 * @param found the file system that the path begins in
 * @throws AppError `not_supported` for a mount that is not of the written disk, or not understood
 */
export async function findMountedPlace(
  run: Run,
  file: Pick<InjectedFile, 'path' | 'partition' | 'deleted'>,
  found: FoundPartition,
  disk: ImageTarget,
): Promise<MountedPlace> {
  const { entries, path } = await withMounted(run, found.name, mountHarmless('ro', found.subvolume), async (root) => {
    const place = await resolveInside(root, file.path, { keepLast: file.deleted === true });
    return { entries: parseFstab(await readBeginning(root, 'etc/fstab')), path: `/${relative(root, place)}` };
  });
  let inside = path;
  for (let steps = 0; steps < maxSteps; steps += 1) {
    const entry = findMountOver(entries, inside);
    if (entry === undefined) return { ...found, path: steps === 0 ? file.path : inside };
    const below = inside.slice(entry.point.length) || '/';
    if (entry.source.startsWith('/') && entry.options.some((option) => /^r?bind$/.test(option))) {
      inside = `${entry.source}${below}`;
      continue;
    }
    const place = await placeOf(run, entry, disk);
    const first = disk.partitions.find(({ name }) => name === found.name);
    const isSame = place !== undefined && first?.fsUuid !== null && place.fsUuid === first?.fsUuid;
    if (file.partition !== undefined && !isSame) return { ...found, path: file.path };
    if (place === undefined) throw hidden(file.path, entry, disk.name);
    return { name: isSame ? found.name : place.name, subvolume: subvolumeOf(entry, disk.name, file.path), path: below };
  }
  throw new AppError('not_supported', `/etc/fstab of the image has mounts for ${file.path} that lead in a circle`);
}

/** `undefined`: not one of the written disk's, or of several it isn't known which. */
async function placeOf(
  run: Run,
  { source }: FstabEntry,
  { partitions }: ImageTarget,
): Promise<ProbedPartition | undefined> {
  const named = tagOf(source);
  if (named === undefined) return undefined;
  const matching: ProbedPartition[] = [];
  for (const partition of partitions) {
    const { fsUuid, fsLabel, partLabel, name } = partition;
    const own = {
      UUID: () => fsUuid,
      LABEL: () => fsLabel,
      PARTLABEL: () => partLabel,
      PARTUUID: async () => blkidProperty(await runBlkid(run, name), 'PART_ENTRY_UUID'),
    };
    const value = await own[named.tag]();
    if (
      value !== null &&
      (named.tag.endsWith('UUID') ? sameCase(value) === sameCase(named.value) : value === named.value)
    )
      matching.push(partition);
  }
  const [first, ...others] = matching;
  // one btrfs lies on several partitions; any of them mounts it
  return first && others.every(({ fsType, fsUuid }) => fsType === 'btrfs' && fsUuid === first.fsUuid)
    ? first
    : undefined;
}

function sameCase(value: string): string {
  return value.toLowerCase();
}

/** @throws AppError where it is named by a number, or in several ways */
function subvolumeOf(entry: FstabEntry, disk: string, path: string): string | undefined {
  const valuesOf = (name: string): readonly string[] =>
    entry.options.flatMap((option) => (option.startsWith(`${name}=`) ? [option.slice(name.length + 1)] : []));
  const isTop = (number: string): boolean => ['0', '5'].includes(number);
  const [numbers, names] = [valuesOf('subvolid'), valuesOf('subvol')];
  const [named, another] = [...new Set(names.map((name) => `/${name.split('/').filter(Boolean).join('/')}`))];
  if (another !== undefined || /["\\\p{Cc}]/u.test(named ?? '')) throw hidden(path, entry, disk);
  if (named !== undefined) return named;
  if (!numbers.every(isTop)) throw hidden(path, entry, disk);
  return numbers.length > 0 ? '/' : undefined;
}

/** Characters of an image's own words in an error. */
const maxShown = 200;

function hidden(path: string, entry: FstabEntry, disk: string): AppError {
  const [source, point] = [entry.source, entry.point].map((word) => word.slice(0, maxShown));
  return new AppError(
    'not_supported',
    `the image's /etc/fstab mounts ${source} on ${point}, which is not known as a part of ${disk}: ${path} would be hidden below it; ` +
      'give `partition` to say where the file belongs',
  );
}
