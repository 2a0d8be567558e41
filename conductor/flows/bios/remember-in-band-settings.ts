import { z } from 'zod';
import { replaceBiosSettings } from '#conductor/flows/bios/bios-store.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { BiosSetting } from '#shared/bios/bios-setting.ts';

/** What Baton's agent answers to its `bios` steps; another agent's answer tells nothing. */
const InBandResult = z.looseObject({ settings: z.array(BiosSetting) });

/** Where no BMC tells the settings, those that the agent saw are what the API shows. */
export async function rememberInBandSettings(
  tx: Transaction,
  ended: { readonly nodeUuid: string; readonly output: unknown; readonly now: Date },
): Promise<void> {
  const parsed = InBandResult.safeParse(ended.output);
  if (parsed.success) await replaceBiosSettings(tx, ended.nodeUuid, parsed.data.settings, ended.now);
}
