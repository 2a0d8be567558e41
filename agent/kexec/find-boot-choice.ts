import { readBootMode } from '#agent/boot/read-boot-mode.ts';
import { mountHarmless } from '#agent/inject/mount-harmless.ts';
import { type BootChoice, chooseGrubEntry } from '#agent/kexec/grub-menu.ts';
import { notUnderstood } from '#agent/kexec/grub-script.ts';
import { readGrubEnvironment, readLoaderEntries } from '#agent/kexec/loader-entries.ts';
import { listImageNames, readImageText } from '#agent/kexec/read-image-file.ts';
import type { ProbedPartition } from '#agent/storage/block-device.ts';
import { withMounted } from '#agent/storage/mount.ts';
import type { Run } from '#shared/process/run.ts';

export interface FoundChoice extends BootChoice {
  /** Where the configuration is. */
  readonly partition: ProbedPartition;
}

/** Of the root file system, and of a file system for /boot. */
const grubFolders = ['boot/grub', 'boot/grub2', 'grub', 'grub2'];
/** On the EFI system partition: systemd-boot and unified kernel images. */
const otherLoaders = ['loader/entries', 'EFI/Linux'];
const readable: ReadonlySet<string> = new Set(['ext2', 'ext3', 'ext4', 'xfs', 'vfat']);
const maxEntries = 100;
const maxEntryBytes = 64 * 1024;

/**
 * What the boot loader of a deployed system would start. Its file systems are mounted read-only, one after the other.
 * @throws AppError `not_supported` where that can't be known for certain; `storage_error`
 */
export async function findBootChoice(run: Run, partitions: readonly ProbedPartition[]): Promise<FoundChoice> {
  const found: FoundChoice[] = [];
  for (const partition of partitions.filter(({ fsType }) => readable.has(fsType ?? ''))) {
    await withMounted(run, partition.name, mountHarmless('ro'), async (root) => {
      for (const folder of otherLoaders) {
        if (partition.fsType !== 'vfat' || (await listImageNames(root, folder)).length === 0) continue;
        throw notUnderstood(`${folder} on ${partition.name}: systemd-boot and unified kernel images are not supported`);
      }
      for (const folder of grubFolders) {
        const choice = await readGrub(root, folder);
        if (choice) found.push({ ...choice, partition });
      }
    });
  }
  const [only, another] = found;
  if (!only) throw notUnderstood(`there is no grub.cfg in ${grubFolders.join(', ')} of any file system`);
  if (another) {
    throw notUnderstood(`there are several grub.cfg, on ${found.map(({ partition }) => partition.name).join(', ')}`);
  }
  return only;
}

async function readGrub(root: string, folder: string): Promise<BootChoice | undefined> {
  const text = await readImageText(root, `${folder}/grub.cfg`);
  if (text === undefined) return undefined;
  const entries = `${folder.split('/').slice(0, -1).join('/')}/loader/entries`;
  const names = (await listImageNames(root, entries)).filter((name) => name.endsWith('.conf'));
  if (names.length > maxEntries) throw notUnderstood(`more than ${maxEntries} entries in ${entries}`);
  const files = new Map<string, string>();
  for (const name of names) files.set(name, (await readImageText(root, `${entries}/${name}`, maxEntryBytes)) ?? '');
  return chooseGrubEntry(text, {
    platform: (await readBootMode()) === 'uefi' ? 'efi' : 'pc',
    files: new Set(await listImageNames(root, folder)),
    saved: readGrubEnvironment((await readImageText(root, `${folder}/grubenv`)) ?? ''),
    loaderEntries: readLoaderEntries(files),
  });
}

/** The partition that GRUB means by `UUID=…`, `LABEL=…` or `hd0,gpt2`. Pure. @throws AppError `not_supported` */
export function partitionOf(
  device: string | undefined,
  partitions: readonly ProbedPartition[],
  configuration: ProbedPartition,
): ProbedPartition {
  if (device === undefined) return configuration;
  const [, tag, value = ''] = /^(UUID|LABEL)=(.+)$/.exec(device) ?? [];
  // the first disk is the one that firmware starts from
  const number = /^hd0,(?:gpt|msdos)?(\d+)$/.exec(device)?.[1];
  const matching = partitions.filter((partition) => {
    if (tag === 'UUID') return partition.fsUuid?.toLowerCase() === value.toLowerCase();
    return tag === 'LABEL' ? partition.fsLabel === value : partition.number === Number(number);
  });
  const [only] = matching;
  if (only && matching.length === 1) return only;
  throw notUnderstood(`${device} is ${only ? 'more than one partition' : 'no partition'} of the written disk`);
}
