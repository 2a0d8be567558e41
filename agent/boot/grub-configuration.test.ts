import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findKernels, readBootableSystem, readSettings, renderConfiguration } from '#agent/boot/grub-configuration.ts';

let root = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'baton-grub-'));
});
afterEach(() => rm(root, { recursive: true }));

async function put(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  }
}

test('kernels, newest first, each with its initrd by the name that its distribution gives it', () => {
  const names = [
    'vmlinuz-6.1.0-9',
    'vmlinuz-6.1.0-10',
    'initrd.img-6.1.0-10',
    'vmlinuz-0-rescue-1f',
    'vmlinuz',
    'vmlinuz-a b',
  ];
  expect(findKernels(names)).toEqual([
    { kernel: 'vmlinuz-6.1.0-10', initrd: 'initrd.img-6.1.0-10' },
    { kernel: 'vmlinuz-6.1.0-9', initrd: undefined },
    { kernel: 'vmlinuz-0-rescue-1f', initrd: undefined },
  ]);
  expect(findKernels(['vmlinuz-5.14', 'initramfs-5.14.img'])[0]?.initrd).toBe('initramfs-5.14.img');
  expect(findKernels(['vmlinuz-5.14', 'initrd-5.14'])[0]?.initrd).toBe('initrd-5.14');
});

test('settings: later files win, earlier values may be used, all else is left alone', () => {
  const settings = new Map<string, string>();
  readSettings('GRUB_CMDLINE_LINUX="a=1"\n#GRUB_TIMEOUT=9\nexport GRUB_TIMEOUT=3\nPATH=/evil\n', settings);
  readSettings(`GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX \${GRUB_NONE}b='2 3'"`, settings);
  expect([...settings]).toEqual([
    ['GRUB_CMDLINE_LINUX', "a=1 b='2 3'"],
    ['GRUB_TIMEOUT', '3'],
  ]);
  readSettings('GRUB_TIMEOUT=0 # quick\nGRUB_CMDLINE_LINUX="console=ttyS0" # serial\n', settings);
  readSettings('GRUB_TERMINAL="a \\"b c\\" \\$d"\nGRUB_DEFAULT=\'$GRUB_TIMEOUT\'\nGRUB_BROKEN="x\n', settings);
  expect(Object.fromEntries(settings)).toEqual({
    GRUB_CMDLINE_LINUX: 'console=ttyS0',
    GRUB_TIMEOUT: '0',
    GRUB_TERMINAL: 'a "b c" $d',
    GRUB_DEFAULT: '$GRUB_TIMEOUT',
  });
});

test('the configuration of a system', async () => {
  await put({
    'boot/vmlinuz-6.1': '',
    'boot/initrd.img-6.1': '',
    'etc/default/grub': 'GRUB_TIMEOUT=0\nGRUB_CMDLINE_LINUX="console=ttyS0,115200"\nGRUB_TERMINAL="console serial"\n',
    'etc/default/grub.d/50-more.cfg':
      'GRUB_SERIAL_COMMAND="serial --unit=0"\nGRUB_CMDLINE_LINUX_DEFAULT="quiet x=;reboot"\n',
  });
  expect(
    renderConfiguration(await readBootableSystem(root), { rootUuid: 'the-uuid' }),
  ).toBe(`# Written when Baton deployed this system; the system's own update-grub takes its place.
serial --unit=0
terminal_input console serial
terminal_output console serial
set timeout=0
search --no-floppy --fs-uuid --set=root the-uuid
menuentry 'Linux 6.1' {
  linux /boot/vmlinuz-6.1 root=UUID=the-uuid ro console=ttyS0,115200 quiet 'x=;reboot'
  initrd /boot/initrd.img-6.1
}
`);
});

test('GRUB names the files of a subvolume from the top of its file system', async () => {
  await put({ 'boot/vmlinuz-6.1': '', 'boot/initrd.img-6.1': '' });
  const system = await readBootableSystem(root);
  const at = (subvolume: string, isNamed = false) =>
    renderConfiguration(system, { rootUuid: 'the-uuid', subvolume, isNamed });
  expect(at('/@')).toContain('  linux /@/boot/vmlinuz-6.1 root=UUID=the-uuid ro\n  initrd /@/boot/initrd.img-6.1\n');
  expect(at('/of all')).toContain("  initrd '/of all/boot/initrd.img-6.1'\n");
  expect(at('/@rootfs', true)).toContain(
    '  linux /@rootfs/boot/vmlinuz-6.1 root=UUID=the-uuid ro rootflags=subvol=@rootfs\n',
  );
});

test('what GRUB could not start is refused', async () => {
  await expect(readBootableSystem(root)).rejects.toThrow('the image has no kernel: no vmlinuz-VERSION in /boot');
  await put({ 'boot/vmlinuz-6.1': '', 'boot/loader/entries/a.conf': '' });
  await expect(readBootableSystem(root)).rejects.toThrow('the image boots by entries in /boot/loader/entries');
});

test('links that lead out of the image are not followed', async () => {
  await symlink('../../../../../../../..', join(root, 'boot'));
  await expect(readBootableSystem(root)).rejects.toThrow('leads out of its file system');
});
