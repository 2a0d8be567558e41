import { z } from 'zod';

/** Bytes of the place for one node's kernel parameters in a boot medium, as a line of GRUB's script. */
export const parametersBytes = 16 * 1024;

/** Bytes of the place for the boot's secrets, an initrd of their own. */
export const secretsBytes = 1024;

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

/** In the texts of `MeasuredMedium`, the node's kernel parameters. */
export const parametersMark = '{parameters}';

/** In the same texts, GRUB's name of the device that it was loaded from. */
export const deviceMark = '{device}';

/** Measurements of a machine with UEFI and a TPM that boots the medium. */
const MeasuredMedium = z.strictObject({
  /** Authenticode digests in PCR 4, in this order. */
  programs: z.array(z.strictObject({ name: z.string(), sha256 })).min(1),
  /** The kernel's, which follows under Secure Boot, as often as it is checked. */
  kernel: sha256,
  /** Commands that extend PCR 8 (`text`) and files that extend PCR 9 (`file`), in this order. */
  events: z.array(
    z.union([
      z.strictObject({ text: z.string() }),
      /** Digest of the file; none = it has the node's own parameters or secrets. */
      z.strictObject({ file: z.string(), sha256: sha256.optional() }),
    ]),
  ),
});
export type MeasuredMedium = z.infer<typeof MeasuredMedium>;

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
  /** Absent: it was made by a release that knew nothing of it. */
  measured: MeasuredMedium.optional(),
});
export type BootMediumLayout = z.infer<typeof BootMediumLayout>;
