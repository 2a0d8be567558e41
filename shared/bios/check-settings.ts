import { type BiosSetting, holdsPassword, type WantedBiosSetting } from '#shared/bios/bios-setting.ts';
import { AppError } from '#shared/errors/app-error.ts';

const maxNames = 12;

/** Whether a setting has the wanted value; integers and booleans however they are written. */
export function hasValue(setting: BiosSetting | undefined, wanted: string): boolean {
  const value = setting?.value;
  if (value === undefined || value === null) return false;
  switch (setting?.attribute_type) {
    case 'Integer':
      return Number(value) === Number(wanted);
    case 'Boolean':
      return value.toLowerCase() === wanted.toLowerCase();
    default:
      return value === wanted;
  }
}

/** The source of what settings may be: the firmware itself, or a BMC's registry, which is of one moment. */
type Authority = 'firmware' | 'registry';

/**
 * Checks what is asked for against what is known of the settings. Nothing known = nothing refused. A registry that calls a
 * setting read only is advice: another setting may free it, even in the same request. What values there are it knows better
 * than who has mistyped one, and before anything is touched; so does Ironic.
 * @throws AppError `invalid_argument` that names every faulty setting and what would be right.
 */
export function checkSettings(
  known: readonly BiosSetting[],
  wanted: readonly WantedBiosSetting[],
  authority: Authority = 'firmware',
): void {
  if (known.length === 0) return;
  const byName = new Map(known.map((setting) => [setting.name, setting]));
  const faults = wanted.flatMap(({ name, value }) => {
    const setting = byName.get(name);
    // what the BMC shows can be, whatever its registry says
    if (authority === 'registry' && hasValue(setting, value)) return [];
    const fault = setting ? faultOf(setting, value, authority) : unknownSetting(name, known);
    return fault === undefined ? [] : [`${name}: ${fault}`];
  });
  if (faults.length > 0) throw new AppError('invalid_argument', `BIOS settings: ${faults.join('; ')}`);
}

function unknownSetting(name: string, known: readonly BiosSetting[]): string {
  const sameButCase = known.find((setting) => setting.name.toLowerCase() === name.toLowerCase());
  if (sameButCase) return `no such setting; did you mean ${sameButCase.name}?`;
  const names = known.map((setting) => setting.name);
  const more = names.length > maxNames ? ` and ${names.length - maxNames} more` : '';
  return `no such setting; settings are ${names.slice(0, maxNames).join(', ')}${more}`;
}

/** Lists the settings that the registry calls read only, and that are to change. */
export function listReadOnly(
  known: readonly BiosSetting[],
  wanted: readonly WantedBiosSetting[],
): readonly WantedBiosSetting[] {
  const byName = new Map(known.map((setting) => [setting.name, setting]));
  return wanted.filter(({ name, value }) => {
    const setting = byName.get(name);
    return setting?.read_only === true && !hasValue(setting, value);
  });
}

function faultOf(setting: BiosSetting, value: string, authority: Authority): string | undefined {
  if (setting.read_only === true && authority === 'firmware') {
    return hasValue(setting, value) ? undefined : `it is read only (its value is ${shown(setting)})`;
  }
  switch (setting.attribute_type) {
    case 'Boolean':
      return /^(true|false)$/i.test(value) ? undefined : `'${value}' is neither true nor false`;
    case 'Integer':
      return integerFault(setting, value);
    case 'Password':
      return lengthFault(setting, value, false);
    default:
      return allowableFault(setting, value) ?? lengthFault(setting, value, true);
  }
}

function allowableFault(setting: BiosSetting, value: string): string | undefined {
  const legal = setting.allowable_values ?? [];
  if (legal.length === 0 || legal.includes(value)) return undefined;
  return `'${value}' is not possible; it must be one of ${legal.join(', ')}`;
}

function integerFault(setting: BiosSetting, value: string): string | undefined {
  const { lower_bound: lower, upper_bound: upper } = setting;
  const bounds = `an integer${lower === null ? '' : ` from ${lower}`}${upper === null ? '' : ` up to ${upper}`}`;
  const number = Number(value);
  const right = /^[+-]?\d+$/.test(value) && (lower === null || number >= lower) && (upper === null || number <= upper);
  return right ? undefined : `'${value}' is not possible; it must be ${bounds}`;
}

function lengthFault(setting: BiosSetting, value: string, show: boolean): string | undefined {
  const { min_length: least, max_length: most } = setting;
  if ((least === null || value.length >= least) && (most === null || value.length <= most)) return undefined;
  const limits = [least === null ? '' : `at least ${least}`, most === null ? '' : `at most ${most}`].filter(Boolean);
  return `${show ? `'${value}'` : 'the password'} has ${value.length} characters; it must have ${limits.join(' and ')}`;
}

function shown(setting: BiosSetting): string {
  return holdsPassword(setting) ? 'hidden' : (setting.value ?? 'unknown');
}
