import { type GrubImage, readGrubImage } from '#agent/boot/grub-image.ts';
import type { WholeDiskSystem } from '#agent/boot/loader-kind.ts';
import type { SeekFileSystem } from '#agent/boot/seek-file-system.ts';
import { type FoundChoice, partitionOf } from '#agent/kexec/find-boot-choice.ts';
import { notUnderstood } from '#agent/kexec/grub-script.ts';
import { followGrubStub } from '#agent/kexec/grub-stub.ts';
import { listImageNames, readImagePart, readImageText, sizeOfImageFile } from '#agent/kexec/read-image-file.ts';
import { mountHarmless, withMounted } from '#agent/storage/file-systems/mount.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

const maxProgramBytes = 32 * 1024 * 1024;
const maxStubBytes = 4096;

/** Script in the memory of Debian's signed GRUB (grub2, debian/build-efi-images), blanks as one. */
const debianScript =
  'if [ -z "$prefix" -o ! -e "$prefix" ]; then if ! search --file --set=root /.disk/info; then ' +
  'search --file --set=root /.disk/mini-info fi set prefix=($root)/boot/grub fi ' +
  'if [ -e $prefix/x86_64-efi/grub.cfg ]; then source $prefix/x86_64-efi/grub.cfg ' +
  'elif [ -e $prefix/grub.cfg ]; then source $prefix/grub.cfg else source $cmdpath/grub.cfg fi';

/** Why it is not certain that GRUB reads the configuration that was found. */
export interface Doubt {
  readonly reason: string;
  /** It is certain that GRUB reads none. */
  readonly isFatal?: boolean;
}

/**
 * Finds why it is not certain that the started GRUB reads the configuration that was found; `undefined`: it is certain.
 * Its own script, and each `grub.cfg` in the folders of `EFI` beside it, have to lead to that file.
 */
export async function findDoubt(
  run: Run,
  { partitions, configured }: WholeDiskSystem,
  choice: FoundChoice,
  seek: SeekFileSystem,
): Promise<Doubt | undefined> {
  if (configured?.by === 'Baton') {
    const isThere = configured.root === choice.partition.name && /(^|\/)boot\/grub2?\//.test(choice.file);
    return isThere ? undefined : { reason: `the installed GRUB reads a configuration on ${configured.root}` };
  }
  if (configured === undefined)
    return { reason: 'which configuration a GRUB reads that a BIOS starts is in its compressed core' };
  const { device, path } = configured;
  const isJudged = (place: string, from: string): boolean => {
    const [, named = '', file = ''] = /^(?:\(([^)]*)\))?\/+(.+)$/.exec(place) ?? [];
    if (file.replaceAll(/\/+/g, '/') !== choice.file) return false;
    if (named === '') return from === choice.partition.name;
    // the firmware numbers disks as it likes
    return (
      /^(UUID|LABEL)=/.test(named) && partitionOf(named, partitions, choice.partition).name === choice.partition.name
    );
  };
  try {
    return await withMounted(run, device, mountHarmless('ro'), async (root) => {
      const stubs = await readStubs(root);
      const image = await readProgram(root, path);
      const deadEnd = image && (await findDeadEnd(run, { root, device, stubs, image }, seek));
      if (deadEnd) return deadEnd;
      for (const [file, text] of stubs) {
        const place = followGrubStub(text, 'configfile');
        if (!isJudged(place, device)) return { reason: `${file} on ${device} leads to ${place}` };
      }
      if (image === undefined) return { reason: `what ${path} on ${device} has in itself is not understood` };
      const first = placeOf(image);
      if (isJudged(first, device)) return undefined;
      return stubAt(stubs, first) ? undefined : { reason: `${path} on ${device} reads ${first}` };
    });
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'aborted') throw error;
    return { reason: errorChain(error) };
  }
}

/** A configuration beside the loader that leads to another, by its path and text. */
type Stub = readonly [file: string, text: string];

/** FAT knows no case. */
function stubAt(stubs: ReadonlyMap<string, string>, path: string): Stub | undefined {
  return [...stubs].find(([file]) => file.toLowerCase() === path.toLowerCase());
}

/**
 * Seeks the file system that the stub which GRUB reads leads to. A `search` that finds none leaves GRUB's root as it was, the
 * partition that it was loaded from: the path may be there, too.
 */
async function findDeadEnd(
  run: Run,
  {
    root,
    device,
    stubs,
    image,
  }: { root: string; device: string; stubs: ReadonlyMap<string, string>; image: GrubImage },
  seek: SeekFileSystem,
): Promise<Doubt | undefined> {
  const [file, text] = stubAt(stubs, placeOf(image)) ?? [];
  if (file === undefined || text === undefined) return undefined;
  const [, uuid, path] = /^\(UUID=([^)]+)\)\/+(.+)$/.exec(followGrubStub(text, 'configfile')) ?? [];
  if (uuid === undefined || path === undefined || (await seek(run, uuid)) !== false) return undefined;
  if ((await readImageText(root, path)) !== undefined) return undefined;
  const reason = `${file} on ${device} has GRUB seek the file system with the UUID ${uuid}, which no disk of this machine has`;
  return { reason, isFatal: true };
}

/** The configuration that GRUB reads first. @throws AppError `not_supported` */
function placeOf({ config, prefix, memdisk }: GrubImage): string {
  if (config === undefined) return `${prefix}/grub.cfg`;
  if (config.trim() === 'normal (memdisk)/grub.cfg' && memdisk !== undefined) {
    const hasScript = memdisk.toString('latin1').replaceAll(/\s+/g, ' ').includes(`\0${debianScript} \0`);
    if (hasScript) return `${prefix}/grub.cfg`;
    throw notUnderstood('the script in its memory');
  }
  return followGrubStub(config, 'prefix');
}

/** Reads the configurations beside the loaders, by their paths. @throws AppError `not_supported` */
async function readStubs(root: string): Promise<ReadonlyMap<string, string>> {
  const stubs = new Map<string, string>();
  for (const top of (await listImageNames(root, '')).filter((name) => name.toLowerCase() === 'efi')) {
    for (const name of await listImageNames(root, top)) {
      const folder = `${top}/${name}`;
      // Debian's GRUB prefers it
      const own = await listImageNames(root, `${folder}/x86_64-efi`);
      if (own.includes('grub.cfg')) throw notUnderstood(`there is ${folder}/x86_64-efi/grub.cfg`);
      const text = await readImageText(root, `${folder}/grub.cfg`, maxStubBytes);
      if (text !== undefined) stubs.set(`/${folder}/grub.cfg`, text);
    }
  }
  return stubs;
}

async function readProgram(root: string, path: string): Promise<GrubImage | undefined> {
  const length = await sizeOfImageFile(root, path);
  return length > maxProgramBytes ? undefined : readGrubImage(await readImagePart(root, path, { offset: 0, length }));
}
