import { z } from 'zod';
import { listBiosSettings, settingOfRow } from '#conductor/flows/bmc/bios-store.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import {
  type BiosSetting,
  BiosSettingsArgument,
  holdsPassword,
  inBandPrefix,
  type WantedBiosSetting,
} from '#shared/bios/bios-setting.ts';
import { checkSettings } from '#shared/bios/check-settings.ts';
import { efiSettings } from '#shared/bios/efi-settings.ts';
import { AppError, errorChain, errorCode, faultOf, inSituation, isRetryable } from '#shared/errors/app-error.ts';
import { hideEchoed } from '#shared/secret-words.ts';

interface PlannedBiosStep {
  readonly interface: string;
  readonly step: string;
  readonly inBand: boolean;
  readonly args: Readonly<Record<string, unknown>>;
}

const ApplyArgs = z.looseObject({ settings: BiosSettingsArgument });

/** @param args of `bios.apply_configuration`; none where they are wrong */
export function requestedSettings(args: Readonly<Record<string, unknown>>): readonly WantedBiosSetting[] {
  return ApplyArgs.safeParse(args).data?.settings ?? [];
}

/**
 * Refuses impossible values before anything is touched, as far as the settings are known: the BMC's from earlier, EFI
 * variables from everywhere. Other in-band settings have names that the agent knows.
 * @throws AppError `invalid_argument` naming each faulty setting and what would be right.
 */
export async function checkPlannedSettings(
  db: Queryable,
  nodeUuid: string,
  steps: readonly PlannedBiosStep[],
): Promise<void> {
  const asked = steps
    .filter((step) => step.interface === 'bios' && step.step === 'apply_configuration')
    .flatMap(({ inBand, args }) => requestedSettings(args).map((wanted) => ({ ...wanted, inBand })));
  const isEfi = ({ name }: WantedBiosSetting): boolean => name.startsWith(inBandPrefix);
  checkSettings(efiSettings, asked.filter(isEfi));
  const wanted = asked.filter((each) => !each.inBand && !isEfi(each));
  if (wanted.length > 0) checkSettings((await listBiosSettings(db, nodeUuid)).map(settingOfRow), wanted, 'registry');
}

/** Recognizes a setting that can't be read: BMCs answer null for passwords, some for others too. */
export function isUnreadable(setting: BiosSetting | undefined): boolean {
  return setting !== undefined && (setting.value === null || holdsPassword(setting));
}

/**
 * Describes requested settings in words that operators, the log and the node's history may keep: `SysProfile = Performance
 * (now PerfPerWatt), SetupPassword`. Values stand there only where the setting is known not to be a password.
 */
export function describeRequested(
  wanted: readonly WantedBiosSetting[],
  now: (name: string) => BiosSetting | undefined,
): string {
  return wanted
    .map(({ name, value }) => {
      const setting = now(name);
      return mayBeSecret(setting) ? name : `${name} = ${value} (now ${setting?.value ?? 'unknown'})`;
    })
    .join(', ');
}

/** Returns a BMC's own words without the passwords that it repeats. */
export function withoutSecrets(
  text: string,
  wanted: readonly WantedBiosSetting[],
  known: ReadonlyMap<string, BiosSetting>,
): string {
  const passwords = wanted.filter(({ name, value }) => value !== '' && mayBeSecret(known.get(name)));
  return hideEchoed(() => passwords.map(({ value }) => value))(text);
}

/** Returns the same error, or one of the same code in its place where some layer of it repeats a password. */
export function errorWithoutSecrets(
  error: unknown,
  wanted: readonly WantedBiosSetting[],
  known: ReadonlyMap<string, BiosSetting>,
): unknown {
  const chain = errorChain(error);
  const masked = withoutSecrets(chain, wanted, known);
  if (masked === chain) return error;
  return inSituation(new AppError(errorCode(error), masked, { retryable: isRetryable(error) }), faultOf(error));
}

/** Checks whether a setting may be a password: without a registry nobody knows which settings are. */
function mayBeSecret(setting: BiosSetting | undefined): boolean {
  return (setting?.attribute_type ?? null) === null || (setting !== undefined && holdsPassword(setting));
}
