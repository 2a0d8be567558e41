import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { LoaderKind } from '#agent/boot/loader-kind.ts';
import { proveKernel } from '#agent/kexec/prove-kernel.ts';
import { debian, debianUuid, rhel, rhelEntries, rhelUuid, ubuntu } from '#agent/kexec/testing/grub-configurations.ts';
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
const put = (device: ProbedPartition, path: string, content: string): Promise<void> =>
  putFile(disk, device, path, content);
const config = (text: string): Promise<void> => put(root, 'boot/grub/grub.cfg', text);

/** @returns the warnings, or why the image is refused */
async function prove(
  partitions: readonly ProbedPartition[] = [root],
  loader: LoaderKind | 'another' = 'GRUB',
  run: Run = machineWith(disk),
): Promise<readonly string[] | string> {
  return proveKernel(run, { partitions, loader: loader === 'another' ? undefined : loader }, join(disk, 'sys')).catch(
    errorChain,
  );
}
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
  expect(await prove([root, boot])).toMatch(/no file \/vmlinuz-5\.14\.0-362/);
});

test('systemd-boot', async () => {
  const esp = partition(1, 'AB-CD', 'vfat');
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
    expect(await prove([root, partition(3, 'b', 'btrfs')])).toEqual(unproved('on /dev/vda3 \\(btrfs\\)'));
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
