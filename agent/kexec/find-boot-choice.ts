import type { LoaderKind } from '#agent/boot/loader-kind.ts';
import { type BootChoice, chooseGrubEntry } from '#agent/kexec/grub-menu.ts';
import { notUnderstood } from '#agent/kexec/grub-script.ts';
import { findSystemFolder, mountForGrub, type SystemFolder } from '#agent/kexec/grub-view.ts';
import { readGrubEnvironment, readLoaderEntries } from '#agent/kexec/loader-entries.ts';
import { listImageNames, readImageText } from '#agent/kexec/read-image-file.ts';
import { chooseSystemdBootEntry, readSystemdBoot, type SystemdBootEntry } from '#agent/kexec/systemd-boot.ts';
import { readBootMode } from '#agent/machine/boot-mode.ts';
import { withMounted } from '#agent/storage/file-systems/mount.ts';
import type { ProbedPartition } from '#agent/storage/lsblk.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

export interface FoundChoice extends BootChoice {
  /** Where the configuration is. */
  readonly partition: ProbedPartition;
  readonly loader: LoaderKind;
  /** Path of the configuration there; of systemd-boot that of its folder. */
  readonly file: string;
}

/** Folders of GRUB on the root file system, and on a file system for /boot. */
const grubFolders = ['boot/grub', 'boot/grub2', 'grub', 'grub2'];
const readable: ReadonlySet<string> = new Set(['ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'vfat']);
/** Whether a partition's file system is one whose boot configuration is read. */
export function isReadable({ fsType }: Pick<ProbedPartition, 'fsType'>): boolean {
  return readable.has(fsType ?? '');
}

const maxEntries = 100;
const maxEntryBytes = 64 * 1024;

/**
 * Finds what the boot loader of a deployed system would start. Its file systems are mounted read-only, one after the
 * other.
 * @throws AppError `not_supported` where that can't be known for certain; `storage_error`
 */
export async function findBootChoice(
  run: Run,
  partitions: readonly ProbedPartition[],
  sysRoot: string,
): Promise<FoundChoice> {
  const found: FoundChoice[] = [];
  const menu: FoundMenu = { entries: [], patterns: [], hasLoader: false };
  for (const partition of withoutTwins(partitions.filter(isReadable))) {
    const system = await findSystemFolder(run, partition);
    await withMounted(run, partition.name, mountForGrub(partition), async (root) => {
      if (partition.fsType === 'vfat') await addSystemdBoot(menu, root, partition);
      for (const name of grubFolders) {
        const folder = system.path === '' ? name : `${system.path}/${name}`;
        const choice = await readGrub(root, folder, partition);
        if (choice === undefined) continue;
        requireOneMeaning(choice, system);
        found.push({ ...choice, partition, loader: 'GRUB', file: `${folder}/grub.cfg` });
      }
    });
  }
  if (menu.entries.length > 0) return chooseOfMenu(menu, found, sysRoot);
  const [only, another] = found;
  if (!only) throw notUnderstood(`there is no grub.cfg in ${grubFolders.join(', ')} of any file system`);
  if (another) {
    throw notUnderstood(`there are several grub.cfg, on ${found.map(({ partition }) => partition.name).join(', ')}`);
  }
  return only;
}

/** Menu of the EFI system partition, and of a partition for kernels beside it. */
interface FoundMenu {
  readonly entries: {
    readonly id: string;
    readonly kind: SystemdBootEntry['kind'];
    readonly choice: FoundChoice | Error;
  }[];
  readonly patterns: string[];
  hasLoader: boolean;
}

/** Adds the entries of systemd-boot; what is not understood of one entry counts once that is chosen. */
async function addSystemdBoot(menu: FoundMenu, root: string, partition: ProbedPartition): Promise<void> {
  const files = await readSystemdBoot(root);
  menu.hasLoader ||= files.hasLoader;
  if (files.pattern !== undefined) menu.patterns.push(files.pattern);
  for (const { id, kind, read } of files.entries) {
    const choice = await read().then(
      (chosen): FoundChoice => ({ ...chosen, partition, loader: 'systemd-boot', file: 'loader' }),
      (error: unknown) => (error instanceof AppError ? error : Promise.reject(error)),
    );
    menu.entries.push({ id, kind, choice });
  }
}

async function chooseOfMenu(menu: FoundMenu, others: readonly FoundChoice[], sysRoot: string): Promise<FoundChoice> {
  if (others.length > 0) throw notUnderstood('there are a grub.cfg and entries of systemd-boot');
  if (!menu.hasLoader) throw notUnderstood('there are entries of systemd-boot, but no systemd-boot');
  if ((await readBootMode(sysRoot)) !== 'uefi') throw notUnderstood('systemd-boot is started by UEFI alone');
  if (new Set(menu.patterns).size > 1)
    throw notUnderstood('there are several loader.conf, which name different defaults');
  const variables = await listImageNames(sysRoot, 'firmware/efi/efivars');
  const { choice } = chooseSystemdBootEntry(menu.entries, menu.patterns[0], variables);
  if (choice instanceof Error) throw choice;
  return choice;
}

/** One btrfs lies on several partitions; any of them mounts it. */
function withoutTwins(partitions: readonly ProbedPartition[]): readonly ProbedPartition[] {
  const isTwin = (one: ProbedPartition, other: ProbedPartition): boolean =>
    one.fsType === 'btrfs' && one.fsUuid !== null && one.fsUuid === other.fsUuid;
  return partitions.filter((each, index) => !partitions.slice(0, index).some((earlier) => isTwin(each, earlier)));
}

function requireOneMeaning({ kernel, initrds }: BootChoice, { path, isDefault }: SystemFolder): void {
  const unclear = isDefault && [kernel, ...initrds].find((each) => !each.path.startsWith(`/${path}/`));
  if (unclear) {
    throw notUnderstood(`${unclear.path} is from the top of the btrfs, or from its default subvolume ${path}`);
  }
}

async function readGrub(
  root: string,
  folder: string,
  { fsType }: Pick<ProbedPartition, 'fsType'>,
): Promise<BootChoice | undefined> {
  const text = await readImageText(root, `${folder}/grub.cfg`);
  if (text === undefined) return undefined;
  const entries = `${folder.split('/').slice(0, -1).join('/')}/loader/entries`;
  const names = (await listImageNames(root, entries)).filter((name) => name.endsWith('.conf'));
  if (names.length > 0 && fsType === 'btrfs' && /\bblscfg\b/.test(text)) {
    throw notUnderstood(`where \`blscfg\` looks for entries in a btrfs is not known`);
  }
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
  throw notUnderstood(`${device} is ${only ? 'more than one partition' : 'not a partition'} of the written disk`);
}

/** The `root=UUID=…` or `root=LABEL=…` of a command line that no partition has. Pure. */
export function findLostRoot(commandLine: string, partitions: readonly ProbedPartition[]): string | undefined {
  const [, tag, value] = /(?:^|\s)root=(UUID|LABEL)=(\S+)/.exec(commandLine) ?? [];
  const isRoot = ({ fsUuid, fsLabel }: ProbedPartition): boolean => (tag === 'UUID' ? fsUuid : fsLabel) === value;
  return tag === undefined || partitions.some(isRoot) ? undefined : `root=${tag}=${value}`;
}
