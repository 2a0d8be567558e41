import type { ShownMachine } from '#conductor/drivers/shown-machine.ts';
import type { BootDevice, BootMode, PowerState, PowerTarget } from '#conductor/model/power-and-boot.ts';
import type { BiosSetting, WantedBiosSetting } from '#shared/bios/bios-setting.ts';
import type { Disk } from '#shared/disks/disk.ts';
import type { AppError } from '#shared/errors/app-error.ts';
import type { Line, TerminalOptions } from '#shared/terminal/terminal.ts';

/**
 * Limits of a driver's call. Drivers never decide and know no database: they answer a question about one node's BMC or
 * do one thing, wait until the BMC confirms it, and throw `AppError` (`bmc_error`, `unavailable`, `timeout`,
 * `not_supported`, `invalid_argument`) otherwise.
 */

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Milliseconds for the whole call, its confirmation included; the driver has a default. */
  readonly timeoutMs?: number;
}

/** Health of a machine, or of a part of it, in three words: that of the worst in it. */
export type Health = 'ok' | 'warning' | 'critical';

export interface PowerAndHealth {
  /** `undefined` when the BMC does not know (in transition). */
  readonly powerState: PowerState | undefined;
  readonly health: Health | null;
}

export interface PowerInterface {
  /** `undefined` when the BMC does not know (in transition). */
  getPowerState(options?: CallOptions): Promise<PowerState | undefined>;
  /** Reads both at once, where the BMC can tell its machine's health; `null` = it does not tell it now. */
  getPowerAndHealth?(options?: CallOptions): Promise<PowerAndHealth>;
  /** Returns once the BMC reports the target's state. Already there = nothing is done (but `rebooting` always acts). */
  setPowerState(target: PowerTarget, options?: CallOptions): Promise<void>;
  readonly supportedTargets: readonly PowerTarget[];
  /** A machine that is on gets a press of its button. Returns once the BMC has accepted it, whatever comes of it. */
  pressPowerButton?(options?: CallOptions): Promise<void>;
}

export interface BootDeviceSetting {
  readonly bootDevice: BootDevice | undefined;
  readonly persistent: boolean | undefined;
  /** A device that is set and has no name here, in the BMC's words; without both nothing is set. */
  readonly other?: string;
}

export interface SensorReading {
  readonly name: string;
  readonly kind: 'temperature' | 'fan' | 'voltage' | 'current' | 'power' | 'other';
  readonly value: number | null;
  /** Unit as the BMC names it: `Cel`, `RPM`, `V`, `A`, `W`, `%`. */
  readonly unit: string | null;
  readonly health: Health | null;
}

export interface LogEntry {
  /** ISO 8601, by the BMC's clock; `null` = it had none. */
  readonly at: string | null;
  readonly severity: Health | null;
  readonly message: string;
}

export interface ManagementInterface {
  getBootDevice(options?: CallOptions): Promise<BootDeviceSetting>;
  /**
   * `persistent: false` = for the next boot only. `bootMode` is set along where the BMC can. Answers how long it holds:
   * some BMCs take a device for one boot only, whatever is asked of them.
   */
  setBootDevice(
    device: BootDevice,
    options: CallOptions & { readonly persistent: boolean; readonly bootMode?: BootMode },
  ): Promise<{ readonly persistent: boolean }>;
  readonly supportedBootDevices: readonly BootDevice[];
  /** Asks whether the machine offers the device; changes nothing. @throws AppError `not_supported` naming what it offers */
  checkBootDevice?(device: BootDevice, options?: CallOptions): Promise<void>;
  /** `undefined` where the BMC does not report. */
  getBootMode?(options?: CallOptions): Promise<BootMode | undefined>;
  /** A non-maskable interrupt, for a dump of a system that hangs. */
  injectNmi?(options?: CallOptions): Promise<void>;
  /** Restarts the BMC itself, not the machine. Returns once the BMC has accepted it; it is away for minutes then. */
  resetBmc?(options?: CallOptions): Promise<void>;
  /** Deletes the BMC's jobs that wait. */
  clearJobQueue?(options?: CallOptions): Promise<void>;
  setBmcClock?(now: Date, options?: CallOptions): Promise<void>;
  /** At most 200. */
  getSensors?(options?: CallOptions): Promise<readonly SensorReading[]>;
  /** The newest entries of the system event log, the newest last. */
  getEventLog?(newest: number, options?: CallOptions): Promise<readonly LogEntry[]>;
  /** `maker` = the keys that the machine came with, `none` = all are deleted, which is setup mode. */
  resetSecureBootKeys?(to: 'maker' | 'none', options?: CallOptions): Promise<void>;
}

/** How the firmware boots; `undefined` where the BMC does not report. */
export interface FirmwareBoot {
  readonly bootMode: BootMode | undefined;
  readonly secureBoot: boolean | undefined;
}

/** Boot settings of the firmware; a change may take effect at the next boot only. */
export interface FirmwareBootInterface {
  read(options?: CallOptions): Promise<FirmwareBoot>;
  setBootMode(mode: BootMode, options?: CallOptions): Promise<void>;
  setSecureBoot(on: boolean, options?: CallOptions): Promise<void>;
}

export const indicatorStates = ['ON', 'OFF', 'BLINKING', 'UNKNOWN'] as const;
export type IndicatorState = (typeof indicatorStates)[number];

/** A lamp by which people find the machine, or a part of it. */
export interface Indicator {
  readonly component: string;
  /** `led` where the component has one, else the BMC's id of the part. */
  readonly name: string;
  /** States that it can be switched to. */
  readonly states: readonly IndicatorState[];
  readonly state: IndicatorState;
  /** Where the driver finds it again. */
  readonly place: string;
}

export const indicatorComponents = ['system', 'chassis', 'drive'] as const;
export type IndicatorComponent = (typeof indicatorComponents)[number];

export interface IndicatorInterface {
  /** @param options `component`: of it alone, which is less to ask */
  list(options?: CallOptions & { readonly component?: IndicatorComponent }): Promise<readonly Indicator[]>;
  /** @param indicator as listed */
  set(indicator: Indicator, state: IndicatorState, options?: CallOptions): Promise<void>;
}

export interface VirtualDrive {
  /** Media types as Redfish has them: `CD`, `DVD`. */
  readonly mediaTypes: readonly string[];
  readonly inserted: boolean;
  readonly image: string | null;
}

/** The CD drives that the BMC shows to the machine. */
export interface VirtualMediaInterface {
  /** The machine's drives for CDs. */
  list(options?: CallOptions): Promise<readonly VirtualDrive[]>;
  /**
   * Puts the image at the URL into an empty drive, in place of what is in one where none is empty; images that it
   * `replaces` are ejected first. Returns once the BMC shows it, with words about other drives that have something in them:
   * the machine may boot that.
   */
  insert(
    url: string,
    options?: CallOptions & { readonly replaces?: (image: string) => boolean },
  ): Promise<{ readonly beside: readonly string[] }>;
  /** An empty drive is left as it is, and so is one whose image's URL is not `only` what is to go. */
  eject(options?: CallOptions & { readonly only?: (image: string) => boolean }): Promise<void>;
}

/** A part that has firmware: `bios` and `bmc` as Ironic calls them, others by their id in the BMC's inventory. */
export interface FirmwareComponent {
  readonly component: string;
  readonly version: string | null;
  /** Maker, model and serial number, all three for a network adapter, the model alone for the BMC; absent = not known. */
  readonly vendor?: string | null | undefined;
  readonly model?: string | null | undefined;
  readonly serialNumber?: string | null | undefined;
}

/**
 * How a task goes on, by the BMC's own word; `pending` = it has not begun, which may be for want of a reset; `lost` =
 * the BMC knows nothing of it any more, as after its own restart; `unclear` = what it answers says nothing of it.
 */
export type TaskProgress =
  | { readonly state: 'pending' | 'running' | 'done' | 'lost' | 'unclear'; readonly percent: number | undefined }
  | { readonly state: 'failed'; readonly why: string };

/** State of a BMC before an update is asked for, by which it is seen whether it has begun when the answer is lost. */
export interface BeforeUpdate {
  readonly version: string | null;
  /** Paths of its tasks; `null` = it does not list them. */
  readonly tasks: readonly string[] | null;
}

/**
 * Signs of an update whose answer was lost: its task; something at work that may be it; another version; nothing, which says
 * that it has not begun only where the BMC shows its tasks now, none of them new but others', and the version of before.
 */
export type FoundUpdate =
  | { readonly state: 'task'; readonly task: string }
  | { readonly state: 'at work' | 'another version' }
  | { readonly state: 'nothing'; readonly isShown: boolean };

/** Components that can be read; parts that can't are left out, and named in the log. */
export interface ShownFirmware {
  readonly components: readonly FirmwareComponent[];
  /** Why the update service or its inventory can't be read now: a version of before says nothing then of an update. */
  readonly fault: AppError | undefined;
  /**
   * Whether a component that is not shown may be a part that can't be read, or that shows no version now. Where its version
   * of before is given, it may be one with another version in its name, too.
   */
  readonly mayHide: (component: string, before?: string | null) => boolean;
}

export interface FirmwareInterface {
  getComponents(options?: CallOptions): Promise<ShownFirmware>;
  /**
   * Where a part can't be read, what is missing may be that: it isn't refused.
   * @throws AppError `invalid_argument` for what the BMC positively doesn't have
   */
  requireComponents(names: readonly string[], options?: CallOptions): Promise<void>;
  /**
   * Has the BMC fetch the image, or sends it there, and write it. Returns once the BMC has accepted it, with the version
   * before, and the path of its task: an update without one shows its end by the version alone, whatever the status.
   * @throws AppError `bmc_error` with the BMC's words when it refuses, `not_supported`
   */
  startUpdate(
    update: {
      readonly component: string;
      readonly url: string;
      /** It is to be the file that is given, and not what the BMC finds at the URL. */
      readonly mustPush: boolean;
    },
    /** Calls with the path of a file with the image; not called where the BMC fetches it. */
    withFile: <T>(use: (file: string) => Promise<T>, signal: AbortSignal) => Promise<T>,
    /** `beforeAsking`: called before the request that may begin it; what fails without that call has begun nothing. */
    options?: CallOptions & { readonly beforeAsking?: (before: BeforeUpdate) => Promise<void> },
  ): Promise<{ readonly before: string | null; readonly task: string | undefined }>;
  /** @throws AppError for no answer now, which says nothing about the update */
  findUpdate(component: string, before: BeforeUpdate, options?: CallOptions): Promise<FoundUpdate>;
  /** @throws AppError for no answer now, which says nothing about the update */
  getUpdateProgress(task: string, options?: CallOptions): Promise<TaskProgress>;
}

/** How far the firmware is with what was asked of it. */
export interface BiosProgress {
  /** Each setting's value now, as text. */
  readonly values: ReadonlyMap<string, string | null>;
  /** Settings that take effect at the next reset. */
  readonly pending: readonly WantedBiosSetting[];
  /** The settings go back to their defaults at the next reset; `false` where the BMC does not report. */
  readonly defaultsPending: boolean;
  /** Whether the answer describes a BIOS: what a BMC that starts may answer in its place has nothing pending, either. */
  readonly isShown: boolean;
  /** Faults that the BMC reports of the last time it applied settings. */
  readonly failures: readonly string[];
}

/** A request for the BIOS' defaults, as the BMC has taken it. */
export interface BiosReset {
  /** The path of the BMC's task of it; `undefined` = there is none, or the task has ended. */
  readonly task: string | undefined;
  /** Whether the BMC has said that it has taken it, or a task will say so; else only the settings can show it. */
  readonly isClear: boolean;
}

export interface BiosInterface {
  /** Everything known of every setting. Slow on some BMCs: the registry that describes settings has megabytes. */
  getSettings(options?: CallOptions): Promise<readonly BiosSetting[]>;
  getProgress(options?: CallOptions): Promise<BiosProgress>;
  /**
   * Asks for these values; most take effect when the machine is next reset, which is the caller's business.
   * @returns path of the BMC's task of it; `undefined` = it has none, or it has ended
   * @throws AppError `bmc_error` with the BMC's words when it refuses one: then none is changed.
   */
  applySettings(settings: readonly WantedBiosSetting[], options?: CallOptions): Promise<string | undefined>;
  /** Asks for the defaults, at the next reset. */
  factoryReset(options?: CallOptions): Promise<BiosReset>;
  /** @throws AppError for no answer now, which says nothing about the task */
  getTaskProgress(task: string, options?: CallOptions): Promise<TaskProgress>;
}

export interface InspectionInterface {
  /**
   * Reads what the machine is made of, on or off, and changes nothing. A part that can't be read is named as unknown.
   * @throws AppError where the BMC refuses the login, does not answer, or shows no system
   */
  readMachine(options?: CallOptions): Promise<ShownMachine>;
}

/** A drive behind a controller, in the words that hints are made of; `name` is the BMC's id of it. */
export interface RaidDrive extends Disk {
  readonly path: string;
}

/** `level` as Ironic writes it, `1+0`; `drives` by path; `wwn` as the operating system shows it. */
export interface RaidVolume {
  readonly path: string;
  readonly name: string;
  readonly level: string;
  readonly sizeBytes: number;
  readonly drives: readonly string[];
  readonly wwn: string | null;
}

/** A storage controller that makes volumes of its drives. */
export interface RaidController {
  readonly id: string;
  readonly volumesPath: string;
  /** Ironic's RAID levels; all of them where it does not say which. */
  readonly levels: readonly string[];
  /** Whether it says which: some that do not make no volumes at all. */
  readonly saysLevels?: boolean;
  /** When it says that it does what it is asked for: `Immediate`, `OnReset`… */
  readonly applyTimes: readonly string[];
  readonly drives: readonly RaidDrive[];
  /** Names of drives that are listed and can't be read: they are not used. */
  readonly unread?: readonly string[];
  readonly volumes: readonly RaidVolume[];
}

export interface NewRaidVolume {
  readonly controller: RaidController;
  readonly level: string;
  readonly drives: readonly RaidDrive[];
  readonly name: string | undefined;
  /** Size of the volume; `undefined` = all that the drives have. */
  readonly sizeBytes: number | undefined;
}

/**
 * Volumes come and go at once where the controller can do that, else at the next reset, which is the caller's business.
 * Both changes answer whether they were seen to end: `false` = the controller may be at it still.
 */
export interface RaidInterface {
  /** Lists controllers with drives or volumes, and of the `driveless` those, too, that have neither and are enabled. */
  getControllers(
    options?: CallOptions & { readonly driveless?: readonly string[] },
  ): Promise<readonly RaidController[]>;
  createVolume(volume: NewRaidVolume, options?: CallOptions): Promise<boolean>;
  deleteVolume(controller: RaidController, volume: RaidVolume, options?: CallOptions): Promise<boolean>;
}

/** The machine's serial console, over one connection to its BMC. */
export interface ConsoleLine extends Line {
  /** Why there is no more of it. */
  readonly ended: Promise<string>;
}

export interface ConsoleInterface {
  /** Most BMCs have room for one connection: one that was left of before is ended. */
  open(size: TerminalOptions, options?: CallOptions): Promise<ConsoleLine>;
}

/** Where a BMC sends its events, in its own words. */
export interface EventSubscription {
  readonly id: string;
  readonly context: string;
  readonly protocol: string;
  readonly destination: string;
  readonly eventTypes: readonly string[];
}

/** @throws AppError `not_found` for an unknown id, `not_supported` where the BMC sends no events */
export interface EventsInterface {
  list(options?: CallOptions): Promise<{ readonly path: string; readonly members: readonly string[] }>;
  read(id: string, options?: CallOptions): Promise<EventSubscription>;
  subscribe(
    wanted: Pick<EventSubscription, 'destination'> &
      Partial<EventSubscription> & { readonly httpHeaders?: readonly Readonly<Record<string, string>>[] },
    options?: CallOptions,
  ): Promise<EventSubscription>;
  unsubscribe(id: string, options?: CallOptions): Promise<void>;
}

/** Records a BMC's answers to questions that change nothing, as `test/recorded` has them. */
export interface RecorderInterface {
  record(options?: CallOptions): Promise<{
    /** By what was asked: `GET /redfish/v1/Systems/1`, `ipmitool mc info`. */
    readonly outputs: Readonly<Record<string, string>>;
    /** Questions that it refused, or whose answers were too much. */
    readonly faults: readonly string[];
  }>;
}

/** A connection to one node's BMC; the interfaces a hardware type lacks are absent. */
export interface Bmc {
  readonly power: PowerInterface;
  readonly management: ManagementInterface;
  readonly bios?: BiosInterface;
  readonly console?: ConsoleInterface;
  readonly events?: EventsInterface;
  readonly firmware?: FirmwareInterface;
  readonly firmwareBoot?: FirmwareBootInterface;
  readonly indicators?: IndicatorInterface;
  readonly inspection?: InspectionInterface;
  readonly raid?: RaidInterface;
  readonly recorder?: RecorderInterface;
  readonly virtualMedia?: VirtualMediaInterface;
}
