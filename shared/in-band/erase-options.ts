import { z } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';
import { describeIssues } from '#shared/errors/describe-issues.ts';

/** The operator's decisions about erasing (agent-protocol.md §6.6). */
export interface EraseOptions {
  /** Passes of random bytes where the disk can't erase itself. More than one also rules out a mere discard. */
  readonly iterations: number;
  /** Zeros after the passes. */
  readonly zeroize: boolean;
  /** A disk whose own erase fails is overwritten instead of failing the step. */
  readonly continueIfSecureEraseFailed: boolean;
  readonly nvmeSecureErase: boolean;
  readonly ataSecureErase: boolean;
  /** A read-only disk is left out and reported, instead of failing the step. */
  readonly skipReadOnly: boolean;
  /** Disks erased at the same time. */
  readonly concurrency: number;
  /** Also what holds GPFS, VMFS or GFS2, which other machines may have mounted. */
  readonly wipeSharedFileSystems: boolean;
}

const flag = z.union(
  [
    z.boolean(),
    z.stringbool({ truthy: ['true', 't', 'yes', 'y', 'on', '1'], falsy: ['false', 'f', 'no', 'n', 'off', '0'] }),
  ],
  { error: 'must be true or false' },
);
const count = (least: number) =>
  z
    .union([z.number(), z.string().regex(/^\d+$/).transform(Number)], { error: 'must be a whole number' })
    .pipe(z.number().int().min(least));

/** Key on the wire → how it is read; the first of the keys that is there counts. */
const knobs = {
  iterations: { keys: ['agent_erase_devices_iterations'], schema: count(0), fallback: 1 },
  zeroize: { keys: ['agent_erase_devices_zeroize'], schema: flag, fallback: true },
  continueIfSecureEraseFailed: {
    // the second is the first one's name of old
    keys: ['agent_continue_if_secure_erase_failed', 'agent_continue_if_ata_erase_failed'],
    schema: flag,
    fallback: false,
  },
  nvmeSecureErase: { keys: ['agent_enable_nvme_secure_erase'], schema: flag, fallback: true },
  ataSecureErase: { keys: ['agent_enable_ata_secure_erase'], schema: flag, fallback: true },
  skipReadOnly: { keys: ['agent_erase_skip_read_only'], schema: flag, fallback: false },
  concurrency: { keys: ['disk_erasure_concurrency', 'agent_disk_erasure_concurrency'], schema: count(1), fallback: 4 },
  wipeSharedFileSystems: { keys: ['wipe_special_filesystems'], schema: flag, fallback: false },
} as const;

/**
 * Reads them from `driver_info`, where an operator sets them for one node, and from `driver_internal_info`, where
 * Ironic's conductor puts those of its configuration.
 * @throws AppError `invalid_argument` naming the key.
 */
export function readEraseOptions(node: {
  readonly driver_info?: Readonly<Record<string, unknown>>;
  readonly driver_internal_info: Readonly<Record<string, unknown>>;
}): EraseOptions {
  const read = <T>(knob: { keys: readonly string[]; schema: z.ZodType<T>; fallback: T }): T => {
    for (const [source, values] of [
      ['driver_info', node.driver_info ?? {}],
      ['driver_internal_info', node.driver_internal_info],
    ] as const) {
      for (const key of knob.keys) {
        const value = values[key];
        if (value === undefined || value === null) continue;
        const parsed = knob.schema.safeParse(value);
        if (parsed.success) return parsed.data;
        throw new AppError(
          'invalid_argument',
          `${source}.${key} is ${JSON.stringify(value)}: ${describeIssues(parsed.error)}`,
        );
      }
    }
    return knob.fallback;
  };
  return {
    iterations: read<number>(knobs.iterations),
    zeroize: read<boolean>(knobs.zeroize),
    continueIfSecureEraseFailed: read<boolean>(knobs.continueIfSecureEraseFailed),
    nvmeSecureErase: read<boolean>(knobs.nvmeSecureErase),
    ataSecureErase: read<boolean>(knobs.ataSecureErase),
    skipReadOnly: read<boolean>(knobs.skipReadOnly),
    concurrency: read<number>(knobs.concurrency),
    wipeSharedFileSystems: read<boolean>(knobs.wipeSharedFileSystems),
  };
}
