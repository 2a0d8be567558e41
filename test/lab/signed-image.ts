import { join } from 'node:path';
import { buildOsImage } from '#image-build/os-image/build-os-image.ts';
import { run } from '#shared/process/run.ts';

/**
 * The demo system with Debian's signed boot loaders, which a machine with Secure Boot starts; its kernel is signed anyway.
 * Minutes the first time, for packages.
 * @returns the directory, for `imagesDirectory`
 */
export async function buildSignedImage(say: (line: string) => void): Promise<string> {
  const output = join('build', 'signed-image');
  const variant = { name: 'signed', packages: ['grub-efi-amd64-signed', 'shim-signed'], without: [] };
  await buildOsImage({ run, say, force: false, refresh: false }, { output, variant });
  return output;
}
