import { createHash } from 'node:crypto';
import { mkdir, open, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuildContext } from '#image-build/build-context.ts';
import { authenticodeDigest } from '#image-build/ramdisk/authenticode.ts';
import { type Signer, signProgram } from '#image-build/ramdisk/sign-program.ts';
import { AppError } from '#shared/errors/app-error.ts';
import {
  BootMediumLayout,
  deviceMark,
  type MeasuredMedium,
  parametersBytes,
  parametersMark,
  secretsBytes,
} from '#shared/wire/boot-medium.ts';

/** Bytes of a logical sector of ISO 9660, at whose multiples files begin. */
const sector = 2048;

/**
 * Read by GRUB's core under BIOS before anything else. Only CDs are looked at: a search would take a file of that name on a
 * disk, which a tenant of before may have written.
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

const biosModules = ['iso9660', 'configfile', 'normal', 'linux', 'echo', 'test', 'serial', 'biosdisk'];

/**
 * Under UEFI Debian's shim, signed by Microsoft, starts Debian's GRUB for CDs, which starts Debian's kernel: machines with
 * Secure Boot take it as it is, and others too.
 */
const efiPrograms = [
  { name: 'shim', file: 'usr/lib/shim/shimx64.efi.signed', place: 'BOOTX64.EFI' },
  { name: 'GRUB', file: 'usr/lib/grub/x86_64-efi-signed/gcdx64.efi.signed', place: 'grubx64.efi' },
] as const;

/** Places that its reader fills in, in the layout's order. */
const places: readonly string[] = ['baton/node.cfg', 'baton/secrets.img'];

/** Bytes of a sector of the FAT file system that UEFI starts from. */
const fatSector = 512;
/** Sectors that are added to the programs' for its tables and folders. */
const fatSectors = 256;

/**
 * Makes `boot-medium.bin` and `boot-medium.json` beside `vmlinuz` and `initrd.img`: a CD that boots them under BIOS and
 * UEFI, without those two files' own bytes, which its reader puts back in, and with room for one node's parameters and
 * secrets.
 * @param options.signer adds a signature to the first program, for machines that have other keys than Microsoft's
 */
export async function makeBootMedium(
  context: BuildContext,
  tree: string,
  { output, signer }: { readonly output: string; readonly signer?: Signer | undefined },
): Promise<void> {
  const work = join(output, 'boot-medium.work');
  await rm(work, { recursive: true, force: true });
  for (const folder of ['boot/grub', 'baton']) await mkdir(join(work, 'cd', folder), { recursive: true });
  await writeFile(join(work, 'cd/boot/bios.img'), await makeBiosCore(context, tree));
  await makeEfiImage(context, await efiFiles(context, { tree, work, signer }), join(work, 'cd/boot/efi.img'));
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
  const measured = await measure(tree, output);
  await cutOut(iso, { extents: await findFiles(context, iso, [...payload, ...places]), measured }, output);
  await rm(work, { recursive: true });
}

async function measure(tree: string, output: string): Promise<MeasuredMedium> {
  const programs = efiPrograms.map(async ({ name, file }) => ({
    name,
    sha256: authenticodeDigest(await readFile(join(tree, file))),
  }));
  return {
    programs: await Promise.all(programs),
    kernel: authenticodeDigest(await readFile(join(output, 'vmlinuz'))),
    events: [...earlyEvents, ...(await measuredEvents(output))],
  };
}

/** Commands of the configuration within Debian's GRUB for CDs (grub2, `debian/build-efi-images`). */
const earlyEvents = [
  { text: `[ -z (${deviceMark})/boot/grub -o ! -e (${deviceMark})/boot/grub ]` },
  { text: `[ -e (${deviceMark})/boot/grub/x86_64-efi/grub.cfg ]` },
  { text: `[ -e (${deviceMark})/boot/grub/grub.cfg ]` },
  { text: `source (${deviceMark})/boot/grub/grub.cfg` },
];

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
async function makeBiosCore(context: BuildContext, tree: string): Promise<Buffer> {
  const folder = join(tree, 'tmp/boot-medium');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'early.cfg'), earlyConfiguration);
  const files = ['--output=/tmp/boot-medium/core', '--config=/tmp/boot-medium/early.cfg'];
  const core = ['--format=i386-pc-eltorito', '--prefix=/boot/grub', ...biosModules];
  await context.run('chroot', [tree, 'grub-mkimage', ...files, ...core]);
  const bytes = await readFile(join(folder, 'core'));
  await rm(folder, { recursive: true });
  return bytes;
}

interface EfiFile {
  readonly path: string;
  /** Below `EFI/BOOT/`. */
  readonly place: string;
}

async function efiFiles(
  context: BuildContext,
  { tree, work, signer }: { readonly tree: string; readonly work: string; readonly signer: Signer | undefined },
): Promise<readonly EfiFile[]> {
  const files = efiPrograms.map(({ file, place }) => ({ path: join(tree, file), place }));
  const [first] = files;
  if (!signer || !first) return files;
  const target = join(work, first.place);
  await signProgram(context, signer, { program: first.path, target });
  return [{ ...first, path: target }, ...files.slice(1)];
}

async function makeEfiImage(context: BuildContext, programs: readonly EfiFile[], image: string): Promise<void> {
  const sizes = await Promise.all(programs.map(async ({ path }) => (await stat(path)).size));
  const sectors = sizes.reduce((sum, size) => sum + Math.ceil(size / fatSector), fatSectors);
  const tracks = Math.ceil(sectors / 32); // which mformat wants whole
  await writeFile(image, Buffer.alloc(tracks * 32 * fatSector));
  const env = { SOURCE_DATE_EPOCH: '315532800', TZ: 'UTC', MTOOLS_SKIP_CHECK: '1' };
  const geometry = ['-h', '1', '-s', '32', '-t', String(tracks)];
  await context.run('mformat', ['-i', image, ...geometry, '-N', '0', '::'], { env });
  await context.run('mmd', ['-i', image, '::EFI', '::EFI/BOOT'], { env });
  for (const { path, place } of programs)
    await context.run('mcopy', ['-i', image, path, `::EFI/BOOT/${place}`], { env });
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
