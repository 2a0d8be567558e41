import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { DeployedSystem } from '#agent/boot/deployed-system.ts';
import { configureGrub, installBiosGrub, installEfiGrub } from '#agent/boot/grub.ts';

const root = await mkdtemp(join(tmpdir(), 'baton-grub-'));
for (const target of ['i386-pc', 'x86_64-efi']) await mkdir(join(root, 'usr/lib/grub', target), { recursive: true });
afterAll(() => rm(root, { recursive: true }));

function system(...programs: string[]) {
  const seen: string[] = [];
  const value: DeployedSystem = {
    root,
    run: async (command, args) => {
      seen.push([command, ...args].join(' '));
      return { stdout: '', stderr: '', exitCode: 0, durationMs: 1 };
    },
    find: async (commands) => commands.find((command) => programs.includes(command)),
  };
  return { value, seen };
}

test('BIOS: each disk', async () => {
  const debian = system('grub-install');
  await installBiosGrub(debian.value, ['/dev/vda', '/dev/vdb']);
  expect(debian.seen).toEqual([
    'grub-install --target=i386-pc --recheck /dev/vda',
    'grub-install --target=i386-pc --recheck /dev/vdb',
  ]);
});

test("UEFI: the name that firmware looks for, and nothing in the firmware's variables", async () => {
  const fedora = system('grub2-install');
  await installEfiGrub(fedora.value, 'x64');
  expect(fedora.seen).toEqual(['grub2-install --target=x86_64-efi --efi-directory=/boot/efi --removable --no-nvram']);
});

test('the configuration, where the system has it', async () => {
  const [debian, fedora] = [system('update-grub', 'grub-mkconfig'), system('grub2-mkconfig')];
  await configureGrub(debian.value);
  await configureGrub(fedora.value);
  expect([...debian.seen, ...fedora.seen]).toEqual(['update-grub', 'grub2-mkconfig -o /boot/grub2/grub.cfg']);
});

test('what an image lacks is named', async () => {
  await expect(installBiosGrub(system().value, ['/dev/vda'])).rejects.toThrow(
    'the image has no GRUB tools: no grub-install, grub2-install in its search path',
  );
  await expect(installEfiGrub(system('grub-install').value, 'arm64')).rejects.toThrow(
    "the image's GRUB has no modules for arm64-efi",
  );
  await expect(installEfiGrub(system('grub-install').value, 'riscv64')).rejects.toMatchObject({
    code: 'not_supported',
  });
});
