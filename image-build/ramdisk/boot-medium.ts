import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuildContext } from '#image-build/build-context.ts';
import { authenticodeDigest } from '#image-build/ramdisk/authenticode.ts';
import { AppError } from '#shared/errors/app-error.ts';
import {
  BootMediumLayout,
  type MeasuredMedium,
  parametersBytes,
  parametersMark,
  secretsBytes,
} from '#shared/wire/boot-medium.ts';

/** Bytes of a logical sector of ISO 9660, at whose multiples files begin. */
const sector = 2048;

/**
 * Read by GRUB's core before anything else. Only CDs are looked at, by their names under BIOS and UEFI: a search would take a
 * file of that name on a disk, which a tenant of before may have written.
 */
const earlyConfiguration = ['cd', 'cd0', 'cd1', 'cd2', 'cd3', 'cd4', 'cd5']
  .map((name) => `set root=${name}\nset prefix=($root)/boot/grub\nconfigfile ($root)/boot/grub/grub.cfg\n`)
  .join('');

/**
 * `node.cfg` sets `baton_parameters`; words in it are split as in a shell. `linuxefi` starts the kernel as an EFI program,
 * which hands the firmware's event log on; `measuredEvents` says what of this is measured.
 */
const configuration = `serial --unit=0 --speed=115200
terminal_output console serial
source /baton/node.cfg
echo "Baton: loading the ramdisk from virtual media"
if [ "$grub_platform" = efi ]; then
linuxefi /vmlinuz $baton_parameters
initrdefi /baton/secrets.img /initrd.img
else
linux /vmlinuz $baton_parameters
initrd /baton/secrets.img /initrd.img
fi
boot
`;

const modules = ['iso9660', 'configfile', 'normal', 'linux', 'echo', 'test', 'serial'];
const platforms = {
  'i386-pc-eltorito': ['biosdisk'],
  'x86_64-efi': ['efi_gop', 'efi_uga', 'all_video', 'linuxefi', 'tpm'],
} as const;

/** Places that its reader fills in, in the layout's order. */
const places: readonly string[] = ['baton/node.cfg', 'baton/secrets.img'];

/** Room for GRUB as a file of a FAT file system, in blocks of 1 KiB. */
const efiImageKib = 2880;

/**
 * Makes `boot-medium.bin` and `boot-medium.json` beside `vmlinuz` and `initrd.img`: a CD that boots them under BIOS and
 * UEFI, without those two files' own bytes, which its reader puts back in, and with room for one node's parameters and
 * secrets.
 */
export async function makeBootMedium(context: BuildContext, tree: string, output: string): Promise<void> {
  const work = join(output, 'boot-medium.work');
  await rm(work, { recursive: true, force: true });
  for (const folder of ['boot/grub', 'baton']) await mkdir(join(work, 'cd', folder), { recursive: true });
  const cores = await makeCores(context, tree);
  await writeFile(join(work, 'cd/boot/bios.img'), cores['i386-pc-eltorito']);
  await makeEfiImage(context, work, cores['x86_64-efi']);
  await writeFile(join(work, 'cd/boot/grub/grub.cfg'), configuration);
  await writeFile(join(work, 'cd/baton/node.cfg'), '#'.repeat(parametersBytes));
  await writeFile(join(work, 'cd/baton/secrets.img'), Buffer.alloc(secretsBytes));
  const iso = join(work, 'medium.iso');
  const payload = ['vmlinuz', 'initrd.img'];
  const bios = [
    '-b',
    'boot/bios.img',
    '-no-emul-boot',
    '-boot-load-size',
    '4',
    '-boot-info-table',
    '--grub2-boot-info',
  ];
  const uefi = ['-eltorito-alt-boot', '-e', 'boot/efi.img', '-no-emul-boot'];
  const files = payload.map((name) => `/${name}=${join(output, name)}`);
  const time = ['--modification-date=1980010100000000', '--set_all_file_dates', '1980010100000000'];
  await context.run(
    'xorrisofs',
    ['-quiet', '-R', '-V', 'BATON', '-o', iso, ...bios, ...uefi, ...time, '-graft-points', ...files, join(work, 'cd')],
    { env: { SOURCE_DATE_EPOCH: '315532800', TZ: 'UTC' } },
  );
  const measured = { program: authenticodeDigest(cores['x86_64-efi']), events: await measuredEvents(output) };
  await cutOut(iso, { extents: await findFiles(context, iso, [...payload, ...places]), measured }, output);
  await rm(work, { recursive: true });
}

/**
 * Lists the measurements that GRUB's module `tpm` makes of `configuration` under UEFI (GRUB manual 2.06, "Measured Boot"):
 * each file that it reads, in PCR 9, and each command with its words, and the kernel's, in PCR 8.
 */
async function measuredEvents(output: string): Promise<MeasuredMedium['events']> {
  const fileOf = async (name: string) => ({ file: name, sha256: sha256(await readFile(join(output, name))) });
  return [
    { file: 'grub.cfg', sha256: sha256(Buffer.from(configuration)) },
    { text: 'serial --unit=0 --speed=115200' },
    { text: 'terminal_output console serial' },
    { text: 'source /baton/node.cfg' },
    { file: 'node.cfg' },
    { text: `set baton_parameters=${parametersMark}` },
    { text: 'echo Baton: loading the ramdisk from virtual media' },
    { text: '[ efi = efi ]' },
    { text: `linuxefi /vmlinuz ${parametersMark}` },
    await fileOf('vmlinuz'),
    { text: `/vmlinuz ${parametersMark}` },
    { text: 'initrdefi /baton/secrets.img /initrd.img' },
    { file: 'secrets.img' },
    await fileOf('initrd.img'),
    { text: 'boot' },
  ];
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** In the tree of the ramdisk's packages, whose GRUB fits its modules. */
async function makeCores(
  context: BuildContext,
  tree: string,
): Promise<Readonly<Record<keyof typeof platforms, Buffer>>> {
  const folder = join(tree, 'tmp/boot-medium');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'early.cfg'), earlyConfiguration);
  const make = async (platform: keyof typeof platforms): Promise<Buffer> => {
    const files = [`--output=/tmp/boot-medium/${platform}`, '--config=/tmp/boot-medium/early.cfg'];
    const core = [`--format=${platform}`, '--prefix=/boot/grub', ...modules, ...platforms[platform]];
    await context.run('chroot', [tree, 'grub-mkimage', ...files, ...core]);
    return readFile(join(folder, platform));
  };
  const cores = { 'i386-pc-eltorito': await make('i386-pc-eltorito'), 'x86_64-efi': await make('x86_64-efi') };
  await rm(folder, { recursive: true });
  return cores;
}

async function makeEfiImage(context: BuildContext, work: string, core: Buffer): Promise<void> {
  const [image, loader] = [join(work, 'cd/boot/efi.img'), join(work, 'BOOTX64.EFI')];
  await writeFile(loader, core);
  const env = { SOURCE_DATE_EPOCH: '315532800', TZ: 'UTC', MTOOLS_SKIP_CHECK: '1' };
  await context.run('mformat', ['-C', '-i', image, '-f', String(efiImageKib), '-N', '0', '::'], { env });
  await context.run('mmd', ['-i', image, '::EFI', '::EFI/BOOT'], { env });
  await context.run('mcopy', ['-i', image, loader, '::EFI/BOOT/BOOTX64.EFI'], { env });
}

interface Extent {
  readonly name: string;
  readonly offset: number;
  readonly bytes: number;
}

/** Where the files lie, in the order in which they do. */
async function findFiles(context: BuildContext, iso: string, names: readonly string[]): Promise<readonly Extent[]> {
  const find = ['-find', '/', '-type', 'f', '-exec', 'report_lba', '--'];
  const { stdout } = await context.run('xorriso', ['-report_about', 'WARNING', '-indev', iso, ...find]);
  // File data lba:  0 ,       48 ,     4012 ,  8215552 , '/vmlinuz'
  const extents = [...stdout.matchAll(/^File data lba: *0 , *(\d+) , *\d+ , *(\d+) , '\/(.*)'$/gm)].map(
    ([, start, bytes, name]) => ({ name: name ?? '', offset: Number(start) * sector, bytes: Number(bytes) }),
  );
  return names
    .map((name) => {
      const extent = extents.find((each) => each.name === name);
      if (extent) return extent;
      throw new AppError(
        'internal',
        `find ${name} in ${iso}: xorriso lists ${extents.map((each) => each.name).join(', ')}`,
      );
    })
    .toSorted((one, other) => one.offset - other.offset);
}

/** Writes the image without the payload's bytes, and where they go. */
async function cutOut(
  iso: string,
  { extents, measured }: { readonly extents: readonly Extent[]; readonly measured: MeasuredMedium },
  output: string,
): Promise<void> {
  const { size } = await stat(iso);
  const [parameters, secrets] = places.map((place) => extents.find(({ name }) => name === place)?.offset ?? 0);
  const payload = extents.filter(({ name }) => !places.includes(name));
  await using image = await open(iso);
  await using target = await open(join(output, 'boot-medium.bin'), 'w');
  let from = 0;
  for (const { offset, bytes } of [...payload, { offset: size, bytes: 0 }]) {
    const gap = Buffer.alloc(offset - from);
    await image.read(gap, 0, gap.length, from);
    await target.write(gap);
    from = offset + bytes;
  }
  const layout = { size, parameters, secrets, files: payload, measured };
  await writeFile(join(output, 'boot-medium.json'), `${JSON.stringify(BootMediumLayout.parse(layout), null, 1)}\n`);
}
