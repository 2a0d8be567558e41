import { access } from 'node:fs/promises';
import type { DeployedSystem } from '#agent/boot/deployed-system.ts';
import { resolveInside } from '#agent/inject/resolve-inside.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** The image's own GRUB tools, run in the deployed system. */

const installers = ['grub-install', 'grub2-install'];
/** Debian has one that knows its place; others must be given the configuration's path. */
const configurators = ['update-grub', 'grub-mkconfig', 'grub2-mkconfig'];

/** Makes each disk start the system by a BIOS. @throws AppError `not_found` without GRUB in the system; `command_failed` */
export async function installBiosGrub(system: DeployedSystem, disks: readonly string[]): Promise<void> {
  const installer = await requireProgram(system, installers);
  await requireModules(system, 'i386-pc');
  for (const disk of disks) {
    try {
      await system.run(installer, ['--target=i386-pc', '--recheck', disk]);
    } catch (cause) {
      throw new AppError('storage_error', `install GRUB on ${disk} for BIOS`, { cause });
    }
  }
}

/**
 * Puts GRUB on the EFI system partition mounted at /boot/efi, under the name that firmware looks for by itself; boot
 * entries are the caller's to write.
 * @throws AppError `not_found`, `command_failed`
 */
export async function installEfiGrub(system: DeployedSystem, architecture: string): Promise<void> {
  const target = { x64: 'x86_64-efi', arm64: 'arm64-efi', ia32: 'i386-efi' }[architecture];
  if (target === undefined) {
    throw new AppError('not_supported', `GRUB for UEFI on ${architecture} is not supported: on x64 and arm64 it is`);
  }
  const installer = await requireProgram(system, installers);
  await requireModules(system, target);
  try {
    await system.run(installer, [`--target=${target}`, '--efi-directory=/boot/efi', '--removable', '--no-nvram']);
  } catch (cause) {
    throw new AppError('storage_error', 'install GRUB on the EFI system partition', { cause });
  }
}

/** Writes GRUB's configuration for the kernels in the system. @throws AppError `not_found`, `command_failed` */
export async function configureGrub(system: DeployedSystem): Promise<void> {
  const configurator = await requireProgram(system, configurators);
  const file = configurator === 'grub2-mkconfig' ? '/boot/grub2/grub.cfg' : '/boot/grub/grub.cfg';
  try {
    await system.run(configurator, configurator === 'update-grub' ? [] : ['-o', file]);
  } catch (cause) {
    throw new AppError('storage_error', "write GRUB's configuration", { cause });
  }
}

async function requireProgram(system: DeployedSystem, names: readonly string[]): Promise<string> {
  const found = await system.find(names);
  if (found !== undefined) return found;
  throw new AppError('not_found', `the image has no GRUB tools: no ${names.join(', ')} in its search path`);
}

async function requireModules(system: DeployedSystem, target: string): Promise<void> {
  try {
    await access(await resolveInside(system.root, `usr/lib/grub/${target}`));
  } catch {
    throw new AppError(
      'not_found',
      `the image's GRUB has no modules for ${target}: /usr/lib/grub/${target} is missing`,
    );
  }
}
