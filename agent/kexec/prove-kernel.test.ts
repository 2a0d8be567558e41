import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { LoaderKind, WholeDiskSystem } from '#agent/boot/loader-kind.ts';
import { proveKernel } from '#agent/kexec/prove-kernel.ts';
import { debian, debianUuid, rhel, rhelEntries, rhelUuid, ubuntu } from '#agent/kexec/testing/grub-configurations.ts';
import { grubProgram } from '#agent/kexec/testing/grub-program.ts';
import { machineWith, partition, putFile } from '#agent/kexec/testing/probed-disk.ts';
import type { ProbedPartition } from '#agent/storage/lsblk.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

let disk = '';
beforeEach(async () => {
  disk = await mkdtemp(join(tmpdir(), 'baton-disk-'));
});
afterEach(() => rm(disk, { recursive: true }));

const root = partition(2, debianUuid);
const put = (device: ProbedPartition, path: string, content: string | Buffer): Promise<void> =>
  putFile(disk, device, path, content);
const config = (text: string): Promise<void> => put(root, 'boot/grub/grub.cfg', text);

const rhelStub = `search --no-floppy --root-dev-only --fs-uuid --set=dev ${rhelUuid}
set prefix=($dev)/grub2
export $prefix
configfile $prefix/grub.cfg
`;
/** A part of what Debian 12's signed GRUB has in its memory. */
const debianMemdisk = `\0if [ -z "$prefix" -o ! -e "$prefix" ]; then
	if ! search --file --set=root /.disk/info; then
		search --file --set=root /.disk/mini-info
	fi
	set prefix=($root)/boot/grub
fi
if [ -e $prefix/x86_64-efi/grub.cfg ]; then
	source $prefix/x86_64-efi/grub.cfg
elif [ -e $prefix/grub.cfg ]; then
	source $prefix/grub.cfg
else
	source $cmdpath/grub.cfg
fi
\0`;

/** @returns the warnings, or why the image is refused */
async function prove(
  partitions: readonly ProbedPartition[] = [root],
  loader: LoaderKind | 'another' = 'GRUB',
  run: Run = machineWith(disk),
  configured: WholeDiskSystem['configured'] = { by: 'Baton', root: root.name },
): Promise<readonly string[] | string> {
  const system = { partitions, loader: loader === 'another' ? undefined : loader, configured };
  return proveKernel(run, system, join(disk, 'sys')).catch(errorChain);
}
const esp = partition(1, 'AB-CD', 'vfat');
const program = { by: 'image', device: esp.name, path: '/EFI/redhat/grubx64.efi' } as const;
const unproved = (reason: string) => [expect.stringMatching(new RegExp(`^it is not proved that .*: .*${reason}`))];

test('Debian: what its default entry names has to be there', async () => {
  await config(debian);
  const missing =
    /^the image does not boot: GRUB would start "Debian GNU\/Linux": .* no file \/boot\/vmlinuz-6\.1\.0-18/;
  expect(await prove()).toMatch(missing);
  await put(root, 'boot/vmlinuz-6.1.0-18-amd64', '');
  expect(await prove()).toMatch(/vmlinuz-6\.1\.0-18-amd64 on \/dev\/vda2 is empty$/);
  await put(root, 'boot/vmlinuz-6.1.0-18-amd64', 'kernel');
  expect(await prove()).toMatch(/no file \/boot\/initrd\.img-6\.1\.0-18-amd64$/);
  await put(root, 'boot/initrd.img-6.1.0-18-amd64', 'initrd');
  expect(await prove()).toEqual([]);
});

test('RHEL: a file system for /boot, with entries of its own', async () => {
  const boot = partition(3, rhelUuid);
  await put(boot, 'grub2/grub.cfg', rhel);
  await put(boot, 'grub2/grubenv', '# GRUB Environment Block\ntuned_initrd=/tuned.img\n####');
  for (const [name, text] of rhelEntries) await put(boot, `loader/entries/${name}`, text);
  await put(root, 'etc/os-release', '');
  await put(esp, 'EFI/redhat/grubx64.efi', grubProgram({ prefix: '/EFI/redhat' }));
  await put(esp, 'EFI/redhat/grub.cfg', rhelStub);
  expect(await prove([esp, root, boot], 'GRUB', machineWith(disk), program)).toMatch(/no file \/vmlinuz-5\.14\.0-362/);
});

describe('which configuration GRUB reads', () => {
  const toRoot = `search.fs_uuid ${debianUuid} root hd0,gpt2\nset prefix=($root)'/boot/grub'\n`;
  const stub = `${toRoot}configfile $prefix/grub.cfg\n`;
  const own = 'menuentry a {\nlinux (UUID=x)/vmlinuz\n}';
  const proveWith = async (
    built: Parameters<typeof grubProgram>[0],
    files: Readonly<Record<string, string>>,
  ): Promise<readonly string[] | string> => {
    await config(debian);
    await put(esp, 'EFI/redhat/grubx64.efi', grubProgram(built));
    for (const [path, text] of Object.entries(files)) await put(esp, path, text);
    return prove([esp, root], 'GRUB', machineWith(disk), program);
  };
  const prefix = '/EFI/redhat';
  const signed = { prefix, config: 'normal (memdisk)/grub.cfg\n', memdisk: debianMemdisk };

  test.each([
    ['the stub beside it', { prefix }, { 'EFI/redhat/grub.cfg': stub }],
    [
      'a stub that sets the root alone',
      { prefix },
      {
        'EFI/redhat/grub.cfg': `search --no-floppy -u --set=root --hint=hd0 ${debianUuid}\nconfigfile /boot/grub/grub.cfg`,
      },
    ],
    ['a script in itself', { prefix: '/boot/grub', config: toRoot }, {}],
    ['the script of Debian in its memory, and the stub', signed, { 'EFI/redhat/grub.cfg': stub }],
  ])('certain, and so refused: %s', async (_what, built, files) => {
    expect(await proveWith(built, files)).toMatch(/^the image does not boot: .* no file \/boot\/vmlinuz-6\.1\.0-18/);
  });

  test.each([
    ['a whole configuration on the ESP', { prefix }, { 'EFI/redhat/grub.cfg': own }, 'does more than lead to another'],
    ['one beside a stub', { prefix }, { 'EFI/redhat/grub.cfg': stub, 'EFI/BOOT/grub.cfg': own }, 'does more than'],
    [
      'a stub to elsewhere',
      { prefix },
      { 'EFI/redhat/grub.cfg': stub.replace('boot/grub', 'grub') },
      'EFI/redhat/grub.cfg on /dev/vda1 leads to \\(UUID=.*\\)/grub/grub.cfg',
    ],
    [
      'a stub to a disk by number',
      { prefix },
      { 'EFI/redhat/grub.cfg': 'configfile (hd0,gpt2)/boot/grub/grub.cfg' },
      'leads to \\(hd0,gpt2\\)',
    ],
    ['a stub with a condition', { prefix }, { 'EFI/redhat/grub.cfg': `if true; then\n${stub}fi` }, 'does more than'],
    ['no stub', { prefix }, {}, 'grubx64.efi on /dev/vda1 reads /EFI/redhat/grub.cfg'],
    [
      'grub-mkstandalone',
      { prefix: '(memdisk)/boot/grub', memdisk: own },
      {},
      'reads \\(memdisk\\)/boot/grub/grub.cfg',
    ],
    [
      'grub-mkstandalone beside a stub',
      { prefix: '(memdisk)/boot/grub', memdisk: own },
      { 'EFI/redhat/grub.cfg': stub },
      'reads \\(memdisk\\)/boot/grub/grub.cfg',
    ],
    [
      'another script in its memory',
      { ...signed, memdisk: own },
      { 'EFI/redhat/grub.cfg': stub },
      'script in its memory',
    ],
    [
      'a script in itself that is none',
      { prefix, config: 'linux /x' },
      { 'EFI/redhat/grub.cfg': stub },
      'command `linux`',
    ],
    ['two prefixes', { prefix, more: 1 }, { 'EFI/redhat/grub.cfg': stub }, 'has in itself is not understood'],
  ] as const)('not certain, and so a warning: %s', async (_what, built, files, reason) => {
    expect(await proveWith(built, files)).toEqual(unproved(reason));
  });

  describe('a stub that seeks a file system by a UUID that the image has no more', () => {
    const dead = '99999999-0000-4000-8000-000000000009';
    const deadStub = stub.replace(debianUuid, dead);
    const proveDead = async (
      seen: boolean | undefined,
      files: Readonly<Record<string, string>>,
      built: Parameters<typeof grubProgram>[0] = { prefix },
    ): Promise<readonly string[] | string> => {
      await config('menuentry a {\nlinux /boot/vmlinuz\n}\n');
      await put(root, 'boot/vmlinuz', 'kernel');
      await put(esp, 'EFI/redhat/grubx64.efi', grubProgram(built));
      for (const [path, text] of Object.entries(files)) await put(esp, path, text);
      const seek = (_run: Run, uuid: string) => Promise.resolve(uuid === dead ? seen : true);
      const system = { partitions: [esp, root], loader: 'GRUB', configured: program } as const;
      return proveKernel(machineWith(disk), system, join(disk, 'sys'), seek).catch(errorChain);
    };
    const refused = new RegExp(`^the image does not boot: /EFI/redhat/grub.cfg on /dev/vda1 has GRUB seek .* ${dead}`);

    test.each([
      ['plain', { prefix }, deadStub],
      ['with the script of Debian in its memory', signed, deadStub],
      ['as RHEL has it', { prefix }, rhelStub.replace(rhelUuid, dead)],
    ])('is refused where no disk has it: %s', async (_what, built, text) => {
      expect(await proveDead(false, { 'EFI/redhat/grub.cfg': text }, built)).toMatch(refused);
    });

    test.each<[string, boolean | undefined, Readonly<Record<string, string>>, string]>([
      ['another disk has it', true, { 'EFI/redhat/grub.cfg': deadStub }, 'is not a partition of the written disk'],
      ['it is not known', undefined, { 'EFI/redhat/grub.cfg': deadStub }, 'is not a partition of the written disk'],
      [
        'GRUB finds the path where it was loaded from',
        false,
        { 'EFI/redhat/grub.cfg': deadStub.replace('boot/grub', 'own'), 'own/grub.cfg': own },
        'leads to (UUID=',
      ],
      [
        'it is not the one that GRUB reads',
        false,
        { 'EFI/redhat/grub.cfg': stub, 'EFI/old/grub.cfg': deadStub },
        'is not a partition of the written disk',
      ],
    ])('is a warning where %s', async (_what, seen, files, reason) => {
      const said = await proveDead(seen, files);
      expect(said).toEqual([expect.stringContaining(reason)]);
    });
  });

  test("a BIOS's GRUB has it in its core, and one that Baton installs reads that of its root", async () => {
    await config(debian);
    const system = { partitions: [root], loader: 'GRUB' } as const;
    const missing = 'compressed core; by /boot/grub/grub.cfg GRUB would start .* no file /boot/vmlinuz';
    expect(await proveKernel(machineWith(disk), system)).toEqual(unproved(missing));
    const another = { by: 'Baton', root: '/dev/vda9' } as const;
    expect(await prove([root], 'GRUB', machineWith(disk), another)).toEqual(unproved('configuration on /dev/vda9'));
  });
});

test('systemd-boot', async () => {
  await put(root, 'etc/os-release', '');
  await put(esp, 'EFI/systemd/systemd-bootx64.efi', 'LoaderInfo: systemd-boot');
  await put(esp, 'loader/entries/a.conf', 'title A\nlinux /a/linux\n');
  await put(esp, '../sys/firmware/efi/efivars/none', '');
  expect(await prove([esp, root], 'systemd-boot')).toMatch(/systemd-boot would start .* no file \/a\/linux$/);
  expect(await prove([esp, root], 'GRUB')).toEqual(unproved("starts GRUB, .* is systemd-boot's"));
  await put(esp, 'a/linux', 'kernel');
  expect(await prove([esp, root], 'systemd-boot')).toEqual([]);
});

describe('never refused, but said', () => {
  test('a root that is no file system of the disk', async () => {
    await config('menuentry a {\nlinux /boot/vmlinuz root=UUID=gone ro\n}');
    await put(root, 'boot/vmlinuz', 'x');
    const lost =
      'it is not proved that the kernel finds its root: root=UUID=gone is no file system of the written disk';
    expect(await prove()).toEqual([lost]);
    // it may be inside
    expect(await prove([root, partition(5, 'l', 'LVM2_member')])).toEqual([]);
  });

  test.each([
    ['another loader with what an earlier one has left', 'another', debian, 'a boot loader that is not known'],
    [
      'a script that only GRUB can run',
      'GRUB',
      'menuentry a {\nif keystatus --shift; then\nlinux /a\nfi\n}',
      'not understood',
    ],
    ['an entry for a system that is started otherwise', 'GRUB', 'menuentry a {\nchainloader +1\n}', 'chainloader'],
    ['a kernel on another disk', 'GRUB', 'menuentry a {\nlinux (hd1,gpt2)/vmlinuz\n}', 'hd1,gpt2 is not a partition'],
    ['a fallback', 'GRUB', 'set fallback=1\nmenuentry a {\nlinux /a\n}\nmenuentry b {\nlinux /b\n}', 'another entry'],
    ['a link out of the image', 'GRUB', 'menuentry a {\nlinux /../../x\n}', 'leads out of its file system'],
    ['nothing that is read', 'GRUB', undefined, 'there is no grub.cfg'],
  ] as const)('%s', async (_what, loader, text, reason) => {
    await put(root, 'etc/os-release', '');
    if (text !== undefined) await config(text);
    expect(await prove([root], loader)).toEqual(unproved(reason));
  });

  test('a kernel on a file system that is not read', async () => {
    await config('menuentry a {\nlinux (UUID=b)/vmlinuz\n}');
    expect(await prove([root, partition(3, 'b', 'f2fs')])).toEqual(unproved('on /dev/vda3 \\(f2fs\\)'));
  });

  test.each([
    ['mount', 'mount /dev/vda2: wrong fs type'],
    ['grub-fstest', "the ramdisk's GRUB can't read /boot/grub/grub.cfg on /dev/vda2 \\(ext4\\): wrong fs type"],
  ])('a file system that %s does not know', async (program, reason) => {
    await config(ubuntu);
    for (const name of ['vmlinuz', 'initrd.img']) await put(root, `boot/${name}`, 'x');
    await config('menuentry a {\nlinux /boot/vmlinuz\ninitrd /boot/initrd.img\n}');
    const run: Run = (command, ...rest) =>
      command === program
        ? Promise.reject(new AppError('command_failed', 'wrong fs type'))
        : machineWith(disk)(command, ...rest);
    expect(await prove([root], 'GRUB', run)).toEqual(unproved(reason));
  });
});
