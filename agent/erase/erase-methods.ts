import { createCipheriv, randomBytes } from 'node:crypto';
import type { AtaSecurity } from '#agent/erase/ata-security.ts';
import type { NvmeAbilities, SanitizeAction } from '#agent/erase/nvme.ts';
import type { RawDisk } from '#agent/erase/raw-disk.ts';
import { type SlotPool, slotBytes } from '#agent/image/decode/slot-pool.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { EraseOptions } from '#shared/in-band/erase-options.ts';

/** One way to erase a disk. `secure`: the disk does it itself; a failure fails the step unless the operator said so. */
export type EraseMethod =
  | { readonly kind: 'nvme_format'; readonly secureErase: 1 | 2; readonly secure: true }
  | { readonly kind: 'nvme_sanitize'; readonly action: SanitizeAction; readonly secure: true }
  | { readonly kind: 'ata_secure_erase'; readonly security: AtaSecurity; readonly secure: true }
  | { readonly kind: 'discard'; readonly secure: false }
  | { readonly kind: 'overwrite'; readonly secure: false };

/** Abilities of a disk and of what is around it. */
export interface EraseAbilities {
  readonly nvme?: NvmeAbilities | undefined;
  /** Another namespace of the same NVMe subsystem must stay as it is. */
  readonly sharesHardware: boolean;
  readonly ata?: AtaSecurity | undefined;
  /** The kernel can discard unused blocks on the disk. */
  readonly discards: boolean;
}

/** The ways to erase a disk, the best first; the last one works on any disk. Pure. */
export function planErase(abilities: EraseAbilities, options: EraseOptions): readonly EraseMethod[] {
  const { nvme, ata } = abilities;
  const methods: EraseMethod[] = [];
  if (nvme && options.nvmeSecureErase) {
    if (nvme.format && !(nvme.formatsAllNamespaces && abilities.sharesHardware)) {
      if (nvme.cryptoErase) methods.push({ kind: 'nvme_format', secureErase: 2, secure: true });
      methods.push({ kind: 'nvme_format', secureErase: 1, secure: true });
    }
    if (!abilities.sharesHardware) {
      methods.push(...nvme.sanitize.map((action) => ({ kind: 'nvme_sanitize', action, secure: true }) as const));
    }
  }
  if (ata?.supported && options.ataSecureErase) {
    methods.push({ kind: 'ata_secure_erase', security: ata, secure: true });
  }
  // several passes are asked for where blocks that were only declared unused are not enough
  if (abilities.discards && options.iterations <= 1) methods.push({ kind: 'discard', secure: false });
  methods.push({ kind: 'overwrite', secure: false });
  return methods;
}

/** Describes a method as the step's result reports it. */
export function describeMethod(method: EraseMethod): string {
  if (method.kind === 'nvme_format') return `nvme format, secure erase ${method.secureErase}`;
  if (method.kind === 'nvme_sanitize') return `nvme sanitize, ${method.action}`;
  if (method.kind !== 'ata_secure_erase') return method.kind;
  return method.security.enhancedErase ? 'ata enhanced secure erase' : 'ata secure erase';
}

export type Pass = 'random' | 'zeros';

/** The passes over a disk that can't erase itself: at least one. */
export function overwritePasses(options: { readonly iterations: number; readonly zeroize: boolean }): readonly Pass[] {
  const passes = [
    ...Array.from({ length: options.iterations }, (): Pass => 'random'),
    ...(options.zeroize ? (['zeros'] as const) : []),
  ];
  return passes.length === 0 ? ['zeros'] : passes;
}

/**
 * Writes over every byte of a disk.
 * @param onBytes called after each MiB how many bytes of this pass are written
 * @throws AppError `aborted` between two MiB, `storage_error` with the place.
 */
export async function overwriteDisk(
  raw: RawDisk,
  pool: SlotPool,
  pass: Pass,
  signal: AbortSignal,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const slot = await pool.acquire();
  try {
    slot.bytes.fill(0);
    // a key stream: random to anybody without the key, and ten times as fast as the kernel's random bytes
    const stream = pass === 'random' ? createCipheriv('aes-128-ctr', randomBytes(16), randomBytes(16)) : undefined;
    const zeros = Buffer.alloc(slotBytes);
    for (let offset = 0; offset < raw.sizeBytes; offset += slotBytes) {
      if (signal.aborted)
        throw new AppError('aborted', `overwriting ${raw.name} was stopped`, { cause: signal.reason });
      const length = Math.min(slotBytes, raw.sizeBytes - offset);
      if (stream) slot.bytes.set(stream.update(zeros));
      await raw.write(slot.bytes.subarray(0, length), offset);
      onBytes(offset + length);
    }
    await raw.flush();
  } finally {
    slot.release();
  }
}
