import { z } from 'zod';

/**
 * One setting of the machine's firmware with what is known of it, in the words of Redfish's attribute registries and
 * Ironic's API. `null` = not reported.
 */
export const BiosSetting = z.object({
  name: z.string(),
  /** The value as text, whatever its type: `Enabled`, `5`, `true`. */
  value: z.string().nullable(),
  /** `Enumeration`, `String`, `Integer`, `Boolean`, `Password` or a vendor's own. */
  attribute_type: z.string().nullable(),
  allowable_values: z.array(z.string()).nullable(),
  lower_bound: z.number().nullable(),
  upper_bound: z.number().nullable(),
  min_length: z.number().nullable(),
  max_length: z.number().nullable(),
  read_only: z.boolean().nullable(),
  reset_required: z.boolean().nullable(),
  unique: z.boolean().nullable(),
});
export type BiosSetting = z.infer<typeof BiosSetting>;

/**
 * Recognizes a password, or what some BMCs show of one: Dell's hashes and salts (`SHA256SetupPassword`) are of type `String`.
 * By its name alone where nobody says what it is.
 */
export function holdsPassword(setting: Pick<BiosSetting, 'name' | 'attribute_type'>): boolean {
  const { name, attribute_type: type } = setting;
  if (type === 'Password') return true;
  return /passw(or)?d|passphrase/i.test(name) && !['Enumeration', 'Integer', 'Boolean'].includes(type ?? '');
}

/** Returns the setting without the value that nobody should read. */
export function withoutPassword(setting: BiosSetting): BiosSetting {
  return holdsPassword(setting) ? { ...setting, value: null } : setting;
}

/** Returns a setting of which nothing but name and value is known. */
export function bareSetting(name: string, value: string | null): BiosSetting {
  return {
    name,
    value,
    attribute_type: null,
    allowable_values: null,
    lower_bound: null,
    upper_bound: null,
    min_length: null,
    max_length: null,
    read_only: null,
    reset_required: null,
    unique: null,
  };
}

/** A setting as an operator wants it, its value as text. */
export interface WantedBiosSetting {
  readonly name: string;
  readonly value: string;
}

/** Names of settings that are the agent's, whatever BMC there is: EFI variables. */
export const inBandPrefix = 'efi.';

const BiosValue = z.union([z.string(), z.number(), z.boolean()]).transform(String);

/**
 * The arguments of `bios.apply_configuration`, in-band and out-of-band (Ironic: `settings`, a list of name and value).
 * Values may be text, numbers or booleans; they are written in the type that the setting has.
 */
export const BiosSettingsArgument = z
  .array(z.strictObject({ name: z.string().min(1), value: BiosValue }))
  .min(1)
  .superRefine((settings, context) => {
    const names = settings.map(({ name }) => name);
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) context.addIssue({ code: 'custom', message: `${twice} is given twice` });
  })
  .describe('The settings to change: a list of name and value');
