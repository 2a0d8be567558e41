import { type OnSilent, whileListening } from '#conductor/drivers/bmc-silence.ts';
import { inBmcSituation } from '#conductor/drivers/bmc-situation.ts';
import type {
  BiosInterface,
  Bmc,
  EventsInterface,
  FirmwareBootInterface,
  FirmwareInterface,
  ManagementInterface,
  RaidController,
  RaidInterface,
  VirtualMediaInterface,
} from '#conductor/drivers/interfaces.ts';
import type { ShownMachine } from '#conductor/drivers/shown-machine.ts';
import { errorWithout } from '#conductor/kernel/secrets/mask-document.ts';
import { type ErrorCode, errorCode } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { type Hide, hideEchoed, hideSecrets } from '#shared/secret-words.ts';

export interface CallWatch {
  readonly log: Log;
  /** Some BMCs repeat the password that they refuse. */
  readonly hide: Hide;
  /** Called for each call: `get power state`, the code of its error if it failed, and how long it took. */
  readonly ended: (action: string, failure: ErrorCode | undefined, seconds: number) => void;
  /** Called when a request of a call is not answered for a while. */
  readonly onSilent?: OnSilent | undefined;
}

/**
 * Logs each call to a BMC once, when it ends: action, duration in milliseconds, outcome. What it logs are the words of
 * the interfaces, never driver_info. Reads that succeed are `debug`: the power synchronisation makes very many.
 */
export function withLogging(bmc: Bmc, watch: CallWatch): Bmc {
  const { power, management } = bmc;
  return {
    power: {
      supportedTargets: power.supportedTargets,
      getPowerState: (options) => logged(watch, 'get power state', 'debug', {}, () => power.getPowerState(options)),
      ...ifGiven('getPowerAndHealth', power.getPowerAndHealth?.bind(power), (read) => {
        return (options) => logged(watch, 'get power state', 'debug', {}, () => read(options));
      }),
      setPowerState: (target, options) =>
        logged(watch, 'set power state', 'info', { target }, () => power.setPowerState(target, options)),
      ...ifGiven('pressPowerButton', power.pressPowerButton?.bind(power), (press) => {
        return (options) => logged(watch, 'press power button', 'info', {}, () => press(options));
      }),
    },
    management: managementWithLogging(management, watch),
    ...ifGiven('indicators', bmc.indicators, (lamps) => ({
      list: (options) => logged(watch, 'list indicators', 'debug', {}, () => lamps.list(options)),
      set: (lamp, state, options) => {
        const indicator = `${lamp.name}@${lamp.component}`;
        return logged(watch, 'set indicator', 'info', { indicator, state }, () => lamps.set(lamp, state, options));
      },
    })),
    ...ifGiven('inspection', bmc.inspection, (inspection) => ({
      readMachine: (options) => {
        const count = ({ unknown }: ShownMachine) => ({ unknown: unknown.length });
        return logged(watch, 'read the machine', 'info', {}, () => inspection.readMachine(options), count);
      },
    })),
    ...ifGiven('console', bmc.console, (serial) => ({
      open: (size, options) =>
        logged(
          watch,
          'open serial console',
          'info',
          {},
          () => serial.open(size, options),
          () => ({}),
        ),
    })),
    ...ifGiven('events', bmc.events, (events) => eventsWithLogging(events, watch)),
    ...ifGiven('firmware', bmc.firmware, (firmware) => firmwareWithLogging(firmware, watch)),
    ...ifGiven('firmwareBoot', bmc.firmwareBoot, (firmware) => firmwareBootWithLogging(firmware, watch)),
    ...ifGiven('virtualMedia', bmc.virtualMedia, (media) => virtualMediaWithLogging(media, watch)),
    ...ifGiven('raid', bmc.raid, (raid) => raidWithLogging(raid, watch)),
    ...ifGiven('recorder', bmc.recorder, (recorder) => ({
      record: (options) =>
        logged(
          watch,
          'record its answers',
          'info',
          {},
          () => recorder.record(options),
          ({ outputs }) => Object.keys(outputs).length,
        ),
    })),
    ...ifGiven('bios', bmc.bios, (bios) => biosWithLogging(bios, watch)),
  };
}

function managementWithLogging(management: ManagementInterface, watch: CallWatch): ManagementInterface {
  return {
    supportedBootDevices: management.supportedBootDevices,
    getBootDevice: (options) => logged(watch, 'get boot device', 'debug', {}, () => management.getBootDevice(options)),
    setBootDevice: (bootDevice, options) => {
      const { persistent, bootMode } = options;
      return logged(watch, 'set boot device', 'info', { bootDevice, persistent, bootMode }, () =>
        management.setBootDevice(bootDevice, options),
      );
    },
    ...ifGiven('checkBootDevice', management.checkBootDevice?.bind(management), (check) => {
      return (bootDevice, options) =>
        logged(watch, 'check boot device', 'debug', { bootDevice }, () => check(bootDevice, options));
    }),
    ...ifGiven('getBootMode', management.getBootMode?.bind(management), (read) => {
      return (options) => logged(watch, 'get boot mode', 'debug', {}, () => read(options));
    }),
    ...ifGiven('injectNmi', management.injectNmi?.bind(management), (inject) => {
      return (options) => logged(watch, 'inject NMI', 'info', {}, () => inject(options));
    }),
    ...ifGiven('resetBmc', management.resetBmc?.bind(management), (reset) => {
      return (options) => logged(watch, 'reset the BMC', 'info', {}, () => reset(options));
    }),
    ...ifGiven('clearJobQueue', management.clearJobQueue?.bind(management), (clear) => {
      return (options) => logged(watch, 'clear the job queue', 'info', {}, () => clear(options));
    }),
    ...ifGiven('setBmcClock', management.setBmcClock?.bind(management), (set) => {
      return (now, options) => logged(watch, 'set BMC clock', 'info', { now }, () => set(now, options));
    }),
    ...ifGiven('getSensors', management.getSensors?.bind(management), (read) => {
      return (options) =>
        logged(
          watch,
          'get sensors',
          'debug',
          {},
          () => read(options),
          ({ length }) => length,
        );
    }),
    ...ifGiven('getEventLog', management.getEventLog?.bind(management), (read) => {
      return (newest, options) =>
        logged(
          watch,
          'get event log',
          'debug',
          {},
          () => read(newest, options),
          ({ length }) => length,
        );
    }),
    ...ifGiven('resetSecureBootKeys', management.resetSecureBootKeys?.bind(management), (reset) => {
      return (to, options) => logged(watch, 'reset secure boot keys', 'info', { to }, () => reset(to, options));
    }),
  };
}

/** A BMC lacks what it does not offer: the key too. */
function ifGiven<Key extends string, T>(key: Key, given: T | undefined, wrap: (given: T) => T): { [K in Key]?: T } {
  return given === undefined ? {} : ({ [key]: wrap(given) } as { [K in Key]?: T });
}

/** URL, headers and context are left out: they may be logins. */
function eventsWithLogging(events: EventsInterface, watch: CallWatch): EventsInterface {
  const idOnly = ({ id }: { readonly id: string }) => id;
  return {
    list: (options) => logged(watch, 'list event subscriptions', 'debug', {}, () => events.list(options)),
    read: (id, options) =>
      logged(watch, 'read event subscription', 'debug', { id }, () => events.read(id, options), idOnly),
    subscribe: (wanted, options) => {
      const headers = (wanted.httpHeaders ?? []).flatMap((each) => Object.values(each));
      const hideLogins = hideSecrets(() => [wanted.destination, ...headers]);
      const hide: Hide = (text) => hideLogins(watch.hide(text));
      const subscribe = () => events.subscribe(wanted, options);
      return logged({ ...watch, hideInLog: hide }, 'subscribe to events', 'info', {}, subscribe, idOnly);
    },
    unsubscribe: (id, options) =>
      logged(watch, 'end event subscription', 'info', { id }, () => events.unsubscribe(id, options)),
  };
}

/** The URL is left out: it may be signed. */
function firmwareWithLogging(firmware: FirmwareInterface, watch: CallWatch): FirmwareInterface {
  return {
    requireComponents: (names, options) =>
      logged(watch, 'look for firmware', 'debug', { names }, () => firmware.requireComponents(names, options)),
    getComponents: (options) => logged(watch, 'get firmware', 'debug', {}, () => firmware.getComponents(options)),
    startUpdate: (update, withFile, options) =>
      logged(watch, 'start firmware update', 'info', { component: update.component }, () =>
        firmware.startUpdate(update, withFile, options),
      ),
    findUpdate: (component, before, options) =>
      logged(watch, 'look for firmware update', 'debug', { component }, () =>
        firmware.findUpdate(component, before, options),
      ),
    getUpdateProgress: (task, options) =>
      logged(watch, 'get firmware update', 'debug', { task }, () => firmware.getUpdateProgress(task, options)),
  };
}

function firmwareBootWithLogging(firmware: FirmwareBootInterface, watch: CallWatch): FirmwareBootInterface {
  return {
    read: (options) => logged(watch, 'get firmware boot', 'debug', {}, () => firmware.read(options)),
    setBootMode: (mode, options) =>
      logged(watch, 'set boot mode', 'info', { mode }, () => firmware.setBootMode(mode, options)),
    setSecureBoot: (on, options) =>
      logged(watch, 'set secure boot', 'info', { on }, () => firmware.setSecureBoot(on, options)),
  };
}

/** The URL is left out: who knows it may read what stands on the medium. */
function virtualMediaWithLogging(media: VirtualMediaInterface, watch: CallWatch): VirtualMediaInterface {
  return {
    list: (options) => logged(watch, 'read virtual media', 'debug', {}, () => media.list(options)),
    insert: (url, options) => logged(watch, 'insert virtual media', 'info', {}, () => media.insert(url, options)),
    eject: (options) => logged(watch, 'eject virtual media', 'info', {}, () => media.eject(options)),
  };
}

function raidWithLogging(raid: RaidInterface, watch: CallWatch): RaidInterface {
  return {
    getControllers: (options) => {
      const ids = (controllers: readonly RaidController[]) => controllers.map(({ id }) => id);
      return logged(watch, 'get RAID controllers', 'debug', {}, () => raid.getControllers(options), ids);
    },
    createVolume: (volume, options) => {
      const { controller, drives, level } = volume;
      const fields = { controller: controller.id, level, drives: drives.map(({ name }) => name) };
      return logged(watch, 'create RAID volume', 'info', fields, () => raid.createVolume(volume, options));
    },
    deleteVolume: (controller, volume, options) => {
      const fields = { controller: controller.id, volume: volume.name };
      return logged(watch, 'delete RAID volume', 'info', fields, () => raid.deleteVolume(controller, volume, options));
    },
  };
}

/** Values are left out: some settings are passwords. */
function biosWithLogging(bios: BiosInterface, watch: CallWatch): BiosInterface {
  return {
    getSettings: (options) =>
      logged(
        watch,
        'get BIOS settings',
        'debug',
        {},
        () => bios.getSettings(options),
        (settings) => settings.length,
      ),
    getProgress: (options) =>
      logged(
        watch,
        'get BIOS progress',
        'debug',
        {},
        () => bios.getProgress(options),
        ({ pending, failures }) => ({
          pending: pending.map(({ name }) => name),
          // in the BMC's own words, which may repeat values
          failures: failures.length,
        }),
      ),
    applySettings: (settings, options) => {
      const names = settings.map(({ name }) => name);
      const hideValues = hideEchoed(() => settings.map(({ value }) => value));
      const hide: Hide = (text) => hideValues(watch.hide(text));
      const apply = () => bios.applySettings(settings, options);
      return logged({ ...watch, hideInLog: hide }, 'apply BIOS settings', 'info', { names }, apply);
    },
    factoryReset: (options) => logged(watch, 'reset BIOS settings', 'info', {}, () => bios.factoryReset(options)),
    getTaskProgress: (task, options) =>
      logged(watch, 'get progress of BIOS settings', 'debug', { task }, () => bios.getTaskProgress(task, options)),
  };
}

async function logged<T>(
  { log, ended, hide, hideInLog = hide, onSilent }: CallWatch & { readonly hideInLog?: Hide },
  action: string,
  level: 'debug' | 'info',
  fields: Readonly<Record<string, unknown>>,
  call: () => Promise<T>,
  shownResult: (result: T) => unknown = (result) => result,
): Promise<T> {
  const started = performance.now();
  const end = (failure?: ErrorCode): number => {
    const ms = performance.now() - started;
    ended(action, failure, ms / 1000);
    return Math.round(ms);
  };
  try {
    const result = await whileListening(onSilent, call);
    log[level]({ action, ...fields, durationMs: end(), outcome: 'done', result: shownResult(result) }, 'BMC call');
    return result;
  } catch (error) {
    const code = errorCode(error);
    const masked = errorWithout(hideInLog, error);
    log.warn({ action, ...fields, durationMs: end(code), outcome: code, err: masked }, 'BMC call');
    throw errorWithout(hide, inBmcSituation(error));
  }
}
