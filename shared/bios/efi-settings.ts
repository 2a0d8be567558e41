import { type BiosSetting, bareSetting } from '#shared/bios/bios-setting.ts';

/** The settings that every UEFI firmware keeps in variables (UEFI 3.3, 32.3), under names of ours; docs/hardware.md has them. */

const settable = { read_only: false, reset_required: false } as const;
const text = { attribute_type: 'String', ...settable } as const;
const state = { attribute_type: 'Boolean', read_only: true, reset_required: false } as const;

const grammar = {
  'efi.boot_timeout': { attribute_type: 'Integer', lower_bound: 0, upper_bound: 0xffff, ...settable },
  'efi.boot_order': text,
  'efi.boot_next': { attribute_type: 'Enumeration', ...settable },
  'efi.secure_boot': state,
  'efi.setup_mode': state,
  'efi.secure_boot_dbx': text,
  'efi.secure_boot_db': text,
  'efi.secure_boot_kek': text,
  'efi.secure_boot_pk': text,
} as const satisfies Readonly<Record<string, Partial<BiosSetting>>>;

export function efiSetting(name: keyof typeof grammar, value: string | null): BiosSetting {
  return { ...bareSetting(name, value), ...grammar[name] };
}

/** EFI settings, as far as they are the same on all machines. */
export const efiSettings: readonly BiosSetting[] = (Object.keys(grammar) as (keyof typeof grammar)[]).map((name) =>
  efiSetting(name, null),
);
