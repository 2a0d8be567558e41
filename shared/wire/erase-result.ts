import { z } from 'zod';

/** The agent's step that leaves nothing readable on disks. */
export const eraseStep = { interface: 'deploy', step: 'erase_devices' } as const;

/** Why a disk was left alone, as results and receipts say it. */
export const skipReasons = {
  skipList: 'it is on the skip list',
  virtualMedia: "it is the BMC's virtual media",
  readOnly: 'it is read-only',
  noCapacity: 'it shows no capacity, being broken or locked',
  detached: 'it is a namespace that is not attached to this machine',
  preserved: 'local storage is preserved',
} as const;

const text = z.string().nullable().default(null);

/** By what a disk is known again, in another boot and in a receipt; `null` where the hardware is silent. */
const identity = {
  /** `/dev/sda`, as this boot of the ramdisk named it. */
  device: z.string(),
  serial: text,
  wwn: text,
  model: text,
  /** All of them, of which the fields above show one each; absent from an older agent. */
  serials: z.array(z.string()).readonly().optional(),
  wwns: z.array(z.string()).readonly().optional(),
};

const DiskMarks = z.object(identity);
export type DiskMarks = Readonly<z.infer<typeof DiskMarks>>;

/** Evidence that the erase did something: what was read back. */
export const EraseProof = z.object({
  /** Places written with random bytes before, and read after: none had them any more. */
  canaries: z.int().nonnegative(),
  /** Other places read after, which are blank or hold something else than before. */
  samples: z.int().nonnegative(),
  /** Content that all of them held: zeros, ones, or something else than before. */
  reads: z.enum(['zeros', 'ones', 'changed']),
});
export type EraseProof = Readonly<z.infer<typeof EraseProof>>;

/**
 * Returns whether a disk is shown to have been wiped. Samples that read as neither zeros nor ones say something only beside
 * canaries that are gone: any disk reads so.
 */
export function isEvidence(proof: EraseProof | null): proof is EraseProof {
  if (proof === null || proof.canaries + proof.samples === 0) return false;
  return proof.canaries > 0 || proof.reads !== 'changed';
}

export const ErasedDisk = z.object({
  ...identity,
  /** `nvme format, secure erase 1`, `discard` … */
  method: z.string(),
  bytes: z.number().nonnegative(),
  seconds: z.number().nonnegative(),
  /** `null` where only the metadata went, which is proved by what is recognised on the disk afterwards: nothing. */
  proof: EraseProof.nullable().default(null),
  /** Ways that were tried before and why they did not do. */
  tried: z.array(z.string()).readonly().optional(),
});
export type ErasedDisk = Readonly<z.infer<typeof ErasedDisk>>;

/** A disk that an erase step left alone, and why. */
export const SkippedDisk = z.object({ ...identity, reason: z.string() });
export type SkippedDisk = Readonly<z.infer<typeof SkippedDisk>>;

/** Remarks of an erase step beside its disks; absent from an older agent. */
const remarks = {
  /** Devices that each entry of the skip list has protected. */
  protection: z
    .array(z.object({ entry: z.string(), devices: z.array(z.string()).readonly() }))
    .readonly()
    .optional(),
  /** Why there may be more, or less protected, than was asked for: entries that named nothing, controllers without a driver. */
  warnings: z.array(z.string()).readonly().optional(),
};

/** The answer of `deploy.erase_devices`, of all disks of the machine. Both sides parse with it. */
export const EraseResult = z.object({
  erased: z.array(ErasedDisk).readonly(),
  skipped: z.array(SkippedDisk).readonly(),
  ...remarks,
});
export type EraseResult = Readonly<z.infer<typeof EraseResult>>;

/** The argument as an operator finds it in a step's description. */
const osDiskText =
  "the disks that hold the operating system, as the conductor has recorded them; no others' are touched";

/** By what one recorded disk is found again: all that is known must agree, and name one disk. */
export const DiskIdentity = z.object({
  /** Its name when it was recorded: for messages only, the kernel names disks as it likes. */
  name: z.string(),
  serial: text,
  wwn: text,
  serials: identity.serials,
  wwns: identity.wwns,
  wwn_with_extension: text,
  wwn_vendor_extension: text,
  model: text,
  by_path: text,
  /** Bytes. */
  size: z.number().nonnegative().nullable().default(null),
});
export type DiskIdentity = Readonly<z.infer<typeof DiskIdentity>>;

/** Where a node's operating system was written to. */
export const OsDisk = z.object({
  /** One, or the members of the array that it was written to. */
  disks: z.array(DiskIdentity).min(1).readonly(),
  /** UUID of that array, `3aaa0122:29827cfa:5331ad66:ca767371`; `null` = a plain disk. */
  array_uuid: text,
});
export type OsDisk = Readonly<z.infer<typeof OsDisk>>;

/** Arguments of `deploy.erase_devices`; without `only`, every disk is erased. */
export const EraseArgs = z.strictObject({ only: OsDisk.optional().describe(osDiskText) });
export type EraseArgs = Readonly<z.infer<typeof EraseArgs>>;
