import { mkdir, open, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuildContext } from '#image-build/build-context.ts';
import { isPresent } from '#image-build/files.ts';
import { type DiskLayout, sectorSize } from '#image-build/os-image/partitions.ts';
import { identity, imageDate } from '#image-build/os-image/recipe.ts';
import { bootCode, placedCore } from '#shared/disks/grub-boot-sectors.ts';

/** Read by GRUB's core before anything else: the real configuration is on the root file system. */
const earlyConfiguration = `search --no-floppy --label root --set=root
set prefix=($root)/boot/grub
configfile $prefix/grub.cfg
`;

/** In both cores. The md modules let it read a root file system on a software RAID. */
const modules = [
  'part_gpt',
  'ext2',
  'fat',
  'mdraid1x',
  'diskfilter',
  'search',
  'search_label',
  'search_fs_uuid',
  'configfile',
  'normal',
  'linux',
  'echo',
  'ls',
  'cat',
  'test',
  'serial',
  'terminal',
  'minicmd',
  'reboot',
  'halt',
];

/** GRUB for both firmwares: boot code and core for BIOS, an EFI system partition with the loader under both names. */
export async function installBootLoaders(
  context: BuildContext,
  root: string,
  image: string,
  layout: DiskLayout,
): Promise<void> {
  const work = `${image}.boot`;
  await rm(work, { recursive: true, force: true });
  await mkdir(work, { recursive: true });
  // inside the tree, whose GRUB fits its modules; the host needs none
  await mkdir(join(root, 'tmp/grub'));
  await writeFile(join(root, 'tmp/grub/early.cfg'), earlyConfiguration);
  await makeCore(context, root, 'i386-pc', ['biosdisk']);
  await makeCore(context, root, 'x86_64-efi', ['efi_gop', 'efi_uga', 'all_video']);
  await writeBiosCore(root, image, layout);
  await makeEfiPartition(context, root, image, layout, work);
  await rm(join(root, 'tmp/grub'), { recursive: true });
  await utimes(join(root, 'tmp'), imageDate, imageDate);
  await rm(work, { recursive: true });
}

async function makeCore(
  context: BuildContext,
  root: string,
  platform: string,
  platformModules: readonly string[],
): Promise<void> {
  const options = [`--format=${platform}`, `--output=/tmp/grub/${platform}`, '--config=/tmp/grub/early.cfg'];
  const content = ['--prefix=/boot/grub', ...modules, ...platformModules];
  await context.run('chroot', [root, 'grub-mkimage', ...options, ...content]);
}

async function writeBiosCore(root: string, image: string, layout: DiskLayout): Promise<void> {
  const start = layout.biosBoot.first_sector;
  const core = await readFile(join(root, 'tmp/grub/i386-pc'));
  const boot = await readFile(join(root, 'usr/lib/grub/i386-pc/boot.img'));
  await using disk = await open(image, 'r+');
  await disk.write(bootCode(boot, start), 0, undefined, 0);
  await disk.write(placedCore(core, start, layout.biosBoot.sectors * sectorSize), 0, undefined, start * sectorSize);
}

async function makeEfiPartition(
  context: BuildContext,
  root: string,
  image: string,
  layout: DiskLayout,
  work: string,
): Promise<void> {
  const { first_sector: start, sectors } = layout.efiSystem;
  const fileSystem = ['-i', `${image}@@${start * sectorSize}`];
  const geometry = ['-F', '-c', '1', '-T', String(sectors), '-h', '255', '-s', '63', '-H', String(start)];
  const env = { SOURCE_DATE_EPOCH: String(imageDate), TZ: 'UTC', MTOOLS_SKIP_CHECK: '1' };
  await context.run('mformat', [...fileSystem, ...geometry, '-v', 'ESP', '-N', identity.efiVolume], { env });
  const files = await efiFiles(root);
  await context.run('mmd', [...fileSystem, '::EFI', '::EFI/BOOT', '::EFI/debian'], { env });
  for (const [name, content] of files) {
    const source = join(work, 'file');
    await writeFile(source, content);
    await utimes(source, imageDate, imageDate);
    await context.run('mcopy', ['-m', ...fileSystem, source, `::${name}`], { env });
  }
}

const signedLoaders = {
  shim: 'usr/lib/shim/shimx64.efi.signed',
  grub: 'usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed',
} as const;

/** Where the image has Debian's signed loaders, these: a machine with Secure Boot takes no others. */
async function efiFiles(root: string): Promise<ReadonlyArray<readonly [name: string, content: Uint8Array]>> {
  if (await isPresent(join(root, signedLoaders.shim))) {
    const [shim, grub] = [
      await readFile(join(root, signedLoaders.shim)),
      await readFile(join(root, signedLoaders.grub)),
    ];
    return [
      ['EFI/BOOT/BOOTX64.EFI', shim],
      ['EFI/BOOT/grubx64.efi', grub],
      ['EFI/debian/shimx64.efi', shim],
      ['EFI/debian/grubx64.efi', grub],
      ['EFI/debian/grub.cfg', Buffer.from(earlyConfiguration)],
      ['EFI/debian/BOOTX64.CSV', bootEntryCsv('shimx64.efi', 'debian')],
    ];
  }
  const loader = await readFile(join(root, 'tmp/grub/x86_64-efi'));
  return [
    ['EFI/BOOT/BOOTX64.EFI', loader], // what firmware runs that has no entry for this disk
    ['EFI/debian/grubx64.efi', loader],
    ['EFI/debian/BOOTX64.CSV', bootEntryCsv('grubx64.efi', 'debian')],
  ];
}

/** `BOOTX64.CSV` beside a loader: file, label, options, description; UTF-16 with byte order mark, as shim's. */
function bootEntryCsv(loader: string, label: string): Uint8Array {
  return Buffer.from(`\ufeff${loader},${label},,This is the boot entry for ${label}\r\n`, 'utf16le');
}
