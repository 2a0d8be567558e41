import type { AtaSecurity } from '#agent/erase/ata-security.ts';
import type { EraseOptions } from '#agent/erase/erase-options.ts';
import type { NvmeAbilities, SanitizeAction } from '#agent/erase/nvme.ts';

/** One way to erase a disk. `secure`: the disk does it itself; a failure fails the step unless the operator said so. */
export type EraseMethod =
  | { readonly kind: 'nvme_format'; readonly secureErase: 1 | 2; readonly secure: true }
  | { readonly kind: 'nvme_sanitize'; readonly action: SanitizeAction; readonly secure: true }
  | { readonly kind: 'ata_secure_erase'; readonly security: AtaSecurity; readonly secure: true }
  | { readonly kind: 'discard'; readonly secure: false }
  | { readonly kind: 'overwrite'; readonly secure: false };

/** What a disk and what is around it can do. */
export interface EraseAbilities {
  readonly nvme?: NvmeAbilities | undefined;
  /** Another namespace of the same NVMe subsystem must stay as it is. */
  readonly sharesHardware: boolean;
  readonly ata?: AtaSecurity | undefined;
  /** The kernel can tell the disk which blocks are unused. */
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

/** As the step's result tells it. */
export function describeMethod(method: EraseMethod): string {
  if (method.kind === 'nvme_format') return `nvme format, secure erase ${method.secureErase}`;
  if (method.kind === 'nvme_sanitize') return `nvme sanitize, ${method.action}`;
  if (method.kind !== 'ata_secure_erase') return method.kind;
  return method.security.enhancedErase ? 'ata enhanced secure erase' : 'ata secure erase';
}
