import { replaceBiosSettings } from '#conductor/bios/bios-store.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import type { BiosSetting } from '#shared/bios/bios-setting.ts';
import { errorCode } from '#shared/errors/app-error.ts';

type CacheContext = Pick<StepContext, 'node' | 'bmc' | 'signal' | 'record' | 'clock' | 'log'>;

/**
 * Reads the settings from the BMC and remembers them for `GET /v1/nodes/{node}/bios`. As in Ironic it happens when
 * flows begin and after settings have changed. It is a courtesy: a BMC that can't tell them stops no flow.
 */
export async function cacheBiosSettings(context: CacheContext): Promise<void> {
  const { bios } = context.bmc();
  if (!bios) return;
  let settings: readonly BiosSetting[];
  try {
    settings = await bios.getSettings({ signal: context.signal });
  } catch (error) {
    if (context.signal.aborted) throw error;
    const level = errorCode(error) === 'not_supported' ? 'debug' : 'warn';
    context.log[level]({ err: error, node: context.node.uuid }, 'BIOS settings could not be read');
    return;
  }
  await rememberBiosSettings(context, settings);
}

export function rememberBiosSettings(
  context: Pick<StepContext, 'node' | 'record' | 'clock'>,
  settings: readonly BiosSetting[],
): Promise<void> {
  return context.record((tx) => replaceBiosSettings(tx, context.node.uuid, settings, context.clock.now()));
}
