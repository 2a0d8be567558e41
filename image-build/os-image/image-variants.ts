import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { BuildContext } from '#image-build/build-context.ts';
import { type DiskLayout, sectorSize } from '#image-build/os-image/partitions.ts';

/** The disk image once more, in the forms in which images are handed out elsewhere; `qemu-img` makes them. */
export const variantNames = ['demo.qcow2', 'demo-root.qcow2'] as const;

/**
 * Makes `demo.qcow2`, the whole disk, and `demo-root.qcow2`, its root file system alone (a partition image), both
 * compressed with zstd.
 * @param image `demo.raw`
 */
export async function makeVariants(
  context: BuildContext,
  output: string,
  image: string,
  layout: DiskLayout,
): Promise<void> {
  const offset = layout.root.first_sector * sectorSize;
  const size = layout.root.sectors * sectorSize;
  await convert(context, ['-f', 'raw', image], join(output, 'demo.qcow2'));
  const root = `driver=raw,offset=${offset},size=${size},file.driver=file,file.filename=${image}`;
  await convert(context, ['--image-opts', root], join(output, 'demo-root.qcow2'));
}

async function convert(context: BuildContext, source: readonly string[], file: string): Promise<void> {
  const format = ['-c', '-O', 'qcow2', '-o', 'compression_type=zstd'];
  await context.run('qemu-img', ['convert', ...format, ...source, `${file}.new`], { timeoutMs: 600_000 });
  await rename(`${file}.new`, file);
}
