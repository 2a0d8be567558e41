import type { BiosInterface, Bmc, CallOptions } from '#conductor/drivers/interfaces.ts';
import { errorCode } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';

/**
 * Logs each call to a BMC once, when it ends: action, duration in milliseconds, outcome. What it logs are the words of
 * the interfaces, never driver_info. Reads that succeed are `debug`: the power synchronisation makes very many.
 */
export function withLogging(bmc: Bmc, log: Log): Bmc {
  const { power, management } = bmc;
  const getBootMode = management.getBootMode?.bind(management);
  return {
    power: {
      supportedTargets: power.supportedTargets,
      getPowerState: (options) => logged(log, 'get power state', 'debug', {}, () => power.getPowerState(options)),
      setPowerState: (target, options) =>
        logged(log, 'set power state', 'info', { target }, () => power.setPowerState(target, options)),
    },
    management: {
      supportedBootDevices: management.supportedBootDevices,
      getBootDevice: (options) => logged(log, 'get boot device', 'debug', {}, () => management.getBootDevice(options)),
      setBootDevice: (bootDevice, options) => {
        const { persistent, bootMode } = options;
        return logged(log, 'set boot device', 'info', { bootDevice, persistent, bootMode }, () =>
          management.setBootDevice(bootDevice, options),
        );
      },
      ...(getBootMode
        ? {
            getBootMode: (options?: CallOptions) =>
              logged(log, 'get boot mode', 'debug', {}, () => getBootMode(options)),
          }
        : {}),
    },
    ...(bmc.bios ? { bios: biosWithLogging(bmc.bios, log) } : {}),
  };
}

/** Values are left out: some settings are passwords. */
function biosWithLogging(bios: BiosInterface, log: Log): BiosInterface {
  return {
    getSettings: (options) =>
      logged(
        log,
        'get BIOS settings',
        'debug',
        {},
        () => bios.getSettings(options),
        (settings) => settings.length,
      ),
    getProgress: (options) =>
      logged(
        log,
        'get BIOS progress',
        'debug',
        {},
        () => bios.getProgress(options),
        ({ pending, failures }) => ({
          pending: pending.map(({ name }) => name),
          failures,
        }),
      ),
    applySettings: (settings, options) => {
      const names = settings.map(({ name }) => name);
      return logged(log, 'apply BIOS settings', 'info', { names }, () => bios.applySettings(settings, options));
    },
    factoryReset: (options) => logged(log, 'reset BIOS settings', 'info', {}, () => bios.factoryReset(options)),
  };
}

async function logged<T>(
  log: Log,
  action: string,
  level: 'debug' | 'info',
  fields: Readonly<Record<string, unknown>>,
  call: () => Promise<T>,
  shownResult: (result: T) => unknown = (result) => result,
): Promise<T> {
  const started = performance.now();
  const durationMs = (): number => Math.round(performance.now() - started);
  try {
    const result = await call();
    log[level](
      { action, ...fields, durationMs: durationMs(), outcome: 'done', result: shownResult(result) },
      'BMC call',
    );
    return result;
  } catch (error) {
    log.warn({ action, ...fields, durationMs: durationMs(), outcome: errorCode(error), err: error }, 'BMC call');
    throw error;
  }
}
