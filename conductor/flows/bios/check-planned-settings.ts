import { z } from 'zod';
import { listBiosSettings, settingOfRow } from '#conductor/flows/bios/bios-store.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { BiosSettingsArgument, inBandPrefix } from '#shared/bios/bios-setting.ts';
import { checkSettings } from '#shared/bios/check-settings.ts';

interface PlannedBiosStep {
  readonly interface: string;
  readonly step: string;
  readonly inBand: boolean;
  readonly args: Readonly<Record<string, unknown>>;
}

const ApplyArgs = z.looseObject({ settings: BiosSettingsArgument });

/**
 * Values that can't be are refused before anything is touched, as far as the BMC's settings are known from earlier.
 * In-band settings have other names, which the agent checks.
 * @throws AppError `invalid_argument` naming each faulty setting and what would be right.
 */
export async function checkPlannedSettings(
  db: Queryable,
  nodeUuid: string,
  steps: readonly PlannedBiosStep[],
): Promise<void> {
  const wanted = steps
    .filter((step) => step.interface === 'bios' && step.step === 'apply_configuration' && !step.inBand)
    .flatMap((step) => ApplyArgs.safeParse(step.args).data?.settings ?? [])
    .filter(({ name }) => !name.startsWith(inBandPrefix));
  if (wanted.length === 0) return;
  checkSettings((await listBiosSettings(db, nodeUuid)).map(settingOfRow), wanted);
}
