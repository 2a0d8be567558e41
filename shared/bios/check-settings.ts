import { type BiosSetting, holdsPassword, type WantedBiosSetting } from '#shared/bios/bios-setting.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { nearestWord } from '#shared/words.ts';

const maxNames = 12;

/** Returns whether a setting has the wanted value; integers and booleans however they are written. */
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

/** The source of what settings may be: the firmware itself, or a BMC's registry, which is of one moment and one version. */
type Authority = 'firmware' | 'registry';

/**
 * Checks what is asked for against what is known of the settings. Nothing known = nothing refused. A registry advises, and
 * the BMC decides: another setting may free one that is read only there, even in the same request, and a BIOS of another
 * version has other values. Refused before anything is touched is only what no BMC takes (text for a number) and what
 * differs from a listed value in no more than case, blanks, hyphens and underscores.
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
    if (!setting) return [`${name}: ${unknownSetting(name, known)}`];
    const fault =
      authority === 'firmware' ? (readOnlyFault(setting, value) ?? valueFault(setting, value)) : surely(setting, value);
    return fault === undefined ? [] : [`${name}: ${fault}`];
  });
  if (faults.length > 0) throw new AppError('invalid_argument', `BIOS settings: ${faults.join('; ')}`);
}

function unknownSetting(name: string, known: readonly BiosSetting[]): string {
  const names = known.map((setting) => setting.name);
  const meant = probablyMeant(name, names);
  if (meant !== undefined) return `no such setting; did you mean ${meant}?`;
  const more = names.length > maxNames ? ` and ${names.length - maxNames} more` : '';
  return `no such setting; settings are ${names.slice(0, maxNames).join(', ')}${more}`;
}

/** A setting that the registry advises against, with its words; no passwords. */
export interface DoubtfulSetting {
  readonly name: string;
  readonly advice: string;
}

/** Lists the settings that are to change, and that the registry calls read only or has no such values of. */
export function listDoubtful(
  known: readonly BiosSetting[],
  wanted: readonly WantedBiosSetting[],
): readonly DoubtfulSetting[] {
  const byName = new Map(known.map((setting) => [setting.name, setting]));
  return wanted.flatMap(({ name, value }) => {
    const setting = byName.get(name);
    const advice =
      setting && !hasValue(setting, value) && (readOnlyFault(setting, value) ?? valueFault(setting, value));
    return advice ? [{ name, advice }] : [];
  });
}

function readOnlyFault(setting: BiosSetting, value: string): string | undefined {
  if (setting.read_only !== true || hasValue(setting, value)) return undefined;
  return `it is read only (its value is ${shown(setting)})`;
}

/** Judges by what is known, as far as that is sure. */
function surely(setting: BiosSetting, value: string): string | undefined {
  // what the BMC shows can be, whatever its registry says
  if (hasValue(setting, value)) return undefined;
  switch (setting.attribute_type) {
    case 'Boolean':
      return valueFault(setting, value);
    case 'Integer':
      return isInteger(value) ? undefined : valueFault(setting, value);
    default:
      return writtenOtherwise(value, setting.allowable_values ?? []) ? allowableFault(setting, value) : undefined;
  }
}

/** Finds the listed word that differs in no more than case, blanks, hyphens and underscores. */
function writtenOtherwise(word: string, listed: readonly string[]): string | undefined {
  const bare = (text: string): string => text.toLowerCase().replaceAll(/[\s_-]/g, '');
  return listed.find((each) => bare(each) === bare(word));
}

/** Finds the word that was probably meant. Other numbers are no misspelling: `Gen5` is not `Gen4`. */
function probablyMeant(word: string, listed: readonly string[]): string | undefined {
  const digits = (text: string): string => text.replaceAll(/\D/g, '');
  const alike = listed.filter((each) => digits(each) === digits(word));
  return writtenOtherwise(word, listed) ?? nearestWord(word, alike);
}

function valueFault(setting: BiosSetting, value: string): string | undefined {
  if (holdsPassword(setting)) return lengthFault(setting, value, false);
  switch (setting.attribute_type) {
    case 'Boolean':
      return /^(true|false)$/i.test(value) ? undefined : `'${value}' is neither true nor false`;
    case 'Integer':
      return integerFault(setting, value);
    default:
      return allowableFault(setting, value) ?? lengthFault(setting, value, true);
  }
}

const isInteger = (value: string): boolean => /^[+-]?\d+$/.test(value);

function allowableFault(setting: BiosSetting, value: string): string | undefined {
  const legal = setting.allowable_values ?? [];
  if (legal.length === 0 || legal.includes(value)) return undefined;
  const meant = probablyMeant(value, legal);
  const hint = meant === undefined ? '' : `; did you mean ${meant}?`;
  return `'${value}' is not possible; it must be one of ${legal.join(', ')}${hint}`;
}

function integerFault(setting: BiosSetting, value: string): string | undefined {
  const { lower_bound: lower, upper_bound: upper } = setting;
  const bounds = `an integer${lower === null ? '' : ` from ${lower}`}${upper === null ? '' : ` up to ${upper}`}`;
  const number = Number(value);
  const right = isInteger(value) && (lower === null || number >= lower) && (upper === null || number <= upper);
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
