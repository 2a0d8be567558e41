import type { BiosInterface } from '#conductor/drivers/interfaces.ts';
import { listBiosSettings, replaceBiosSettings, settingOfRow } from '#conductor/flows/bios/bios-store.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import type { BiosSetting } from '#shared/bios/bios-setting.ts';
import { errorCode } from '#shared/errors/app-error.ts';

type CacheContext = Pick<StepContext, 'node' | 'bmc' | 'signal' | 'record' | 'clock' | 'log' | 'db' | 'ask'>;

/**
 * Reads the settings from the BMC and remembers them for `GET /v1/nodes/{node}/bios`. As in Ironic it happens when
 * flows begin and after settings have changed. It is a courtesy: a BMC that can't tell them stops no flow.
 */
export async function cacheBiosSettings(context: CacheContext): Promise<void> {
  const settings = await readBiosSettings(context);
  if (settings) await rememberBiosSettings(context, settings);
}

/**
 * The settings as they are now; `undefined` when the BMC can't tell them.
 * @param options `describe`: what settings may be is read again too, which takes some BMCs long; else only where the
 * settings have other names than those remembered
 */
export async function readBiosSettings(
  context: CacheContext,
  options: { readonly describe?: boolean } = {},
): Promise<readonly BiosSetting[] | undefined> {
  const { bios } = context.bmc();
  if (!bios) return undefined;
  try {
    return (
      (options.describe ? undefined : await readValues(context, bios)) ??
      (await bios.getSettings({ signal: context.signal }))
    );
  } catch (error) {
    if (context.signal.aborted) throw error;
    const level = errorCode(error) === 'not_supported' ? 'debug' : 'warn';
    context.log[level]({ err: error }, 'BIOS settings could not be read');
    return undefined;
  }
}

/** The remembered settings with the values of now; `undefined` where they are not the same settings. */
async function readValues(context: CacheContext, bios: BiosInterface): Promise<readonly BiosSetting[] | undefined> {
  const rows = await context.ask(listBiosSettings(context.db, context.node.uuid));
  if (rows.length === 0) return undefined;
  const { values } = await bios.getProgress({ signal: context.signal });
  if (rows.length !== values.size || rows.some((row) => !values.has(row.name))) return undefined;
  return rows.map((row) => ({ ...settingOfRow(row), value: values.get(row.name) ?? null }));
}

export function rememberBiosSettings(
  context: Pick<StepContext, 'node' | 'record' | 'clock'>,
  settings: readonly BiosSetting[],
): Promise<void> {
  return context.record((tx) => replaceBiosSettings(tx, context.node.uuid, settings, context.clock.now()));
}
