import { z } from 'zod';

/** Bytes of the place for one node's kernel parameters in a boot medium, as a line of GRUB's script. */
export const parametersBytes = 16 * 1024;

/** Bytes of the place for the boot's secrets, an initrd of their own. */
export const secretsBytes = 1024;

/**
 * `boot-medium.json`: how the CD that boots the ramdisk is put together. `boot-medium.bin` has all of its bytes but those
 * of `files`, which stand beside it.
 */
export const BootMediumLayout = z.strictObject({
  /** Bytes of the whole. */
  size: z.int().positive(),
  /** Where the node's parameters go; no file of `files` lies there. */
  parameters: z.int().positive(),
  /** Where the boot's secrets go, likewise. */
  secrets: z.int().positive(),
  /** By offset. */
  files: z.array(z.strictObject({ name: z.string(), offset: z.int().nonnegative(), bytes: z.int().nonnegative() })),
});
export type BootMediumLayout = z.infer<typeof BootMediumLayout>;
