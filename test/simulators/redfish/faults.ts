import type { MediaFaults, SimulatedSlot } from '#test/simulators/redfish/media-faults.ts';

/** Faults put between a client and the simulated service. */

export interface Fault {
  /** Any method when absent. */
  readonly method?: string;
  readonly path: RegExp;
  /** Answer with this status instead of handling the request. */
  readonly status?: number;
  /** Headers of an answer with `status`, `body` or `actsAs`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The body to answer with, as JSON, or as it is when text; with `status` 200 by default. */
  readonly body?: unknown;
  /** Never answer (until the simulator closes). */
  readonly hang?: boolean;
  /** Cut the connection without an answer. */
  readonly drop?: boolean;
  /** Answer with `status`, and cut the connection amid its body. */
  readonly cutBody?: boolean;
  /** Handle the request and then cut the connection: the client can't know that it worked. */
  readonly dropAnswer?: boolean;
  /**
   * Handle the request and then answer with this status, as though it had failed; or as a task's where it is 202, unless
   * the request is refused.
   */
  readonly actsAs?: number;
  /** How many requests it hits; default 1. */
  readonly times?: number;
  /** Hits only once such a request has come, as `PATCH /redfish/v1/Systems/1`. */
  readonly after?: RegExp;
}

export interface FaultList {
  inject(fault: Fault): void;
  /** The first fault that fits, used up by one. */
  take(method: string, path: string): Fault | undefined;
  /** Requests that are still to be hit. */
  left(): number;
  clear(): void;
}

export function createFaultList(): FaultList {
  let faults: { fault: Fault; left: number; waits: boolean }[] = [];
  return {
    inject: (fault) => {
      faults.push({ fault, left: fault.times ?? 1, waits: fault.after !== undefined });
    },
    take: (method, path) => {
      const hit = faults.find(
        ({ fault, waits }) => !waits && (fault.method ?? method) === method && fault.path.test(path),
      );
      for (const each of faults) if (each.fault.after?.test(`${method} ${path}`)) each.waits = false;
      if (!hit) return undefined;
      hit.left -= 1;
      if (hit.left <= 0) faults = faults.filter((each) => each !== hit);
      return hit.fault;
    },
    left: () => faults.reduce((sum, { left }) => sum + left, 0),
    clear: () => {
      faults = [];
    },
  };
}

/** How real BMCs differ from the standard; each can be switched at any time. */
export interface Quirks {
  /** No ETag header and no `@odata.etag`. */
  noEtag: boolean;
  /** ETags are weak in answers and compared as strong: `W/"x"` never fits, `"x"` does. */
  weakEtagOnly: boolean;
  /** ETag headers have quotes about the quotes, which If-Match must not; or `If-Match: *` alone is taken. */
  etags: 'as they are' | 'quoted twice' | 'any state alone';
  /** Every If-Match is a 412. */
  rejectIfMatch: boolean;
  /** PATCH without If-Match is a 428. */
  requireIfMatch: boolean;
  /** No `@Redfish.AllowableValues` anywhere. */
  noAllowableValues: boolean;
  /** The reset action names its values in an ActionInfo resource. */
  actionInfo: boolean;
  /** The legal reset types. */
  resetTypes: readonly string[];
  /** The simulator's paths → what this BMC calls them; what is below goes along. */
  paths: Readonly<Record<string, string>>;
  /** Beginning of the paths in links, as a BMC behind NAT writes it: `http://10.9.9.9`. */
  linkBase: string;
  /** The boot override is writable in the Settings resource only. */
  bootViaSettings: boolean;
  /** How long an override may hold, as `BootSourceOverrideEnabled` lists it; others are a 400. */
  overrideEnabled: readonly string[];
  /** How long an override may hold is not listed. */
  unlistedBootTimes: boolean;
  /** Targets that can be booted from, as `BootSourceOverrideTarget` lists them. */
  bootTargets: readonly string[];
  /** A device that somebody has set for all boots, shown where nothing else is. */
  bootsBefore: string | undefined;
  /** Target that boots the virtual CD where `Cd` and `UsbCd` are listed; the other boots nothing. */
  cdTarget: 'Cd' | 'UsbCd';
  /** Targets that the system itself lists in place of it, where the Settings resource has it right; empty: none. */
  systemBootTargets: readonly string[] | undefined;
  /** BootSourceOverrideMode is null whatever it is. */
  hidesBootMode: boolean;
  /** PATCH with BootSourceOverrideMode is a 400. */
  rejectBootMode: boolean;
  /**
   * Outcome of a PATCH of the boot override that is right: some answer 200 and do nothing, iDRAC 8 refuses and has done
   * it.
   */
  bootPatches: 'done' | 'ignored' | 'refused and done';
  /** The boot mode is legacy after a PATCH without it. */
  forgetsBootMode: boolean;
  /** A boot override is for so long, whatever was asked for. */
  bootHolds: 'as asked' | 'Once' | 'Continuous';
  /** Outcome of a PATCH of SecureBoot; `at the reset` = it says that it is shown then. */
  secureBootPatches: 'done' | 'ignored' | 'at the reset';
  /** No link leads to the settings resources of system and Bios; AMI's refusal names that of the system. */
  unlinkedSettings: boolean;
  /** Bios' settings resource takes PATCH and can't be read. */
  unreadableBiosSettings: boolean;
  /** `@Redfish.Settings` of system and Bios leads to nothing: they are written themselves. */
  deadSettingsLinks: boolean;
  /** Actions and PATCHes answer 202 with a task monitor. */
  tasks: boolean;
  /** How often a task monitor answers 202 before it is done. */
  taskPolls: number;
  /** How tasks are listed: with the request of each, as most makers do, without it, or not at all. */
  taskList: 'with requests' | 'without requests' | 'empty';
  /** Tasks end as failed, without effect. */
  failTasks: boolean;
  /**
   * Tasks name no request and are gone once they have ended; the job of each stays under JobService
   * (https://github.com/dell/iDRAC-Redfish-Scripting/issues/275).
   */
  dellJobs: boolean;
  /** Milliseconds that a power change takes, PoweringOn or PoweringOff meanwhile. */
  slowPowerMs: number;
  /** The first power actions are accepted and forgotten. */
  ignoredPowerActions: number;
  /** 200 with a body where 204 is usual. */
  answerWithBody: boolean;
  /** JSON under this content type. */
  contentType: string;
  /**
   * How collections are shown, but that of the systems where members lead nowhere: with one more member in front, null,
   * without a link, with one that leads to nothing (404), to what can't be read (500), or not now (503); or with a page for
   * each member.
   */
  collections:
    | 'as they are'
    | 'with null'
    | 'with a nameless one'
    | 'with a dead one'
    | 'with a broken one'
    | 'with a busy one'
    | 'in pages';
  /** Bodies are compressed: whether it was asked for or not, or only so and else 406. */
  gzip: 'never' | 'always' | 'or 406';
  /** No SessionService. */
  noSessions: boolean;
  /** Where the answer to a login says which session it is: else `Location` is empty, or the collection's. */
  namesSessionIn: 'Location' | 'its link' | 'its id';
  /** `/redfish/v1/` answers 301 to the path without the slash, and the other way round for the rest. */
  redirectSlash: boolean;
  manufacturer: string;
  model: string;
  /** Where readings are. */
  sensors: 'of thermal and power' | 'one by one' | 'none';
  /** The lamp of the system is `LocationIndicatorActive`, not `IndicatorLED`. */
  locationIndicator: boolean;
  /** `SerialConsole` of the system; one over WebSocket is served here. */
  serialConsole: Readonly<Record<string, unknown>> | undefined;
  /** Another name of the system: requests below it are a 307 to the system's own path, as sushy-tools answers. */
  systemAlias: string | undefined;
  /** When volumes of the storage controller come and go; empty: at a reset, which it does not say. */
  volumeApplyTimes: readonly string[];
  /** Volumes are made until then: those made at once have a task that runs, others begin at the reset. */
  volumesMadeAfter: Promise<unknown> | undefined;
  /** A new volume's drives stand in `Drives`, not in `Links`. */
  volumeDrivesAtTop: boolean;
  /** The storage controller has no `Volumes`. */
  noVolumes: boolean;
  /** While the storage controller makes a change, or one waits for a reset, it takes no other. */
  oneVolumeTask: boolean;
  /** Volumes are deleted the last first; others are refused. */
  deletesLastVolumeOnly: boolean;
  /** DELETE of a volume with the time at which it is to be is a 500. */
  rejectsDeletionTime: boolean;
  /** A controller without RAID stands first, which has volumes, refuses to make any, and does not say so. */
  plainController: boolean;
  /** How the BMC itself can be restarted. */
  managerResetTypes: readonly string[];
  /** No SecureBoot resource. */
  noSecureBoot: boolean;
  /** Where the virtual drives are, and how they are filled. */
  virtualMedia: 'of the manager' | 'of the system' | 'by PATCH' | 'none';
  slots: readonly SimulatedSlot[];
  media: Partial<MediaFaults>;
  /** Where a system names its manager; nowhere: the service has one manager. */
  managedBy: 'ManagedBy' | 'Managers' | 'nowhere';
  /** A login in the image's URL is shown as stars. */
  hidesMediaLogin: boolean;
  /** How firmware is updated. */
  simpleUpdate: 'by its URL' | 'with its protocol' | 'none';
  /** Images can be sent to it. */
  multipartPush: boolean;
  /** Form that goes along with an image of BIOS or BMC: other forms are a 400. */
  pushForm: 'no targets' | 'an empty list' | 'an item' | 'the resource' | 'an item and its type';
  /** Images can be sent to it as they are. */
  rawPush: boolean;
  /** Targets that raw images are for, set up by somebody. */
  rawPushTargets: readonly string[];
  /** Maker of the BMC's program, as the service's root names it. */
  vendor: string | undefined;
  /** Its tasks begin at the machine's next reset. */
  updatesAtReset: boolean;
  /** Its own update ends its sessions, and it forgets its tasks. */
  forgetsTasks: boolean;
  /** Firmware is written until then: its task runs, and its version is that of before. */
  flashesUntil: Promise<unknown> | undefined;
  /** A machine that starts with new firmware writes it until then, and its versions are those of before. */
  firmwareWrittenAfter: Promise<unknown> | undefined;
  /** The event log has a page for each entry, the oldest first, with links in place of entries. */
  logPages: boolean;
  /** No Bios resource. */
  noBios: boolean;
  /** Bios has a ResetBios action and nothing else. */
  noBiosAttributes: boolean;
  /** Attributes stand at the top of Bios and of its settings, as iLO 4 has them, and links are Hp's. */
  flatBios: boolean;
  /** Bios has no Settings object: values are written to it and hold at once. */
  noBiosSettings: boolean;
  /** Bios names no attribute registry. */
  noAttributeRegistry: boolean;
  /** The attribute registry's file has other names than the registry that Bios names, as Dell's: only the document has that. */
  registryFileNames: { readonly id: string; readonly registry: string } | undefined;
  /** Attributes that the registry calls read only while another one is not at this value, and that are writable with it. */
  biosFreedBy: Readonly<Record<string, readonly [attribute: string, value: string]>>;
  /** Attributes whose present value is null; `all` = there is null in place of the attributes. */
  nullAttributes: readonly string[] | 'all';
  /** Whether a hash of the setup password and its salt are shown as text, as Dell does. */
  passwordHashes: boolean;
  /** So many settings are taken in one PATCH. */
  biosRefusesMoreThan: number;
  /** While BIOS settings wait for a reset, no more are taken. */
  oneBiosJob: boolean;
  /** Attribute → the words with which a PATCH of it is refused. */
  biosRefuses: Readonly<Record<string, string>>;
  /** After a reset settings wait for this before the firmware applies them, which it is at until then. */
  biosAppliesAfter: Promise<unknown> | undefined;
  /**
   * Changes of BIOS settings are tasks, as Dell's jobs: they begin at the reset, when the new values are shown, and end with
   * this; `failTasks` = as failed.
   */
  biosTaskEnds: Promise<unknown> | undefined;
  /** Attribute → the message that takes the place of its new value at the reset. */
  biosFailsAtReset: Readonly<Record<string, string>>;
  /** Attributes that take values of another BIOS version, which the registry does not list. */
  biosTakesUnlisted: readonly string[];
  /** Attributes that a PATCH takes without effect and without a word. */
  biosDrops: readonly string[];
  /** Bios' settings list what waits; else every attribute. */
  biosListsWaiting: boolean;
  /** Attributes that the firmware leaves as they are at the reset, without a word. */
  biosKeeps: readonly string[];
  /** At the reset the firmware takes all settings or, where one fails, none. */
  biosTakesAllOrNone: boolean;
}

export const standardQuirks: Readonly<Quirks> = {
  noEtag: false,
  weakEtagOnly: false,
  etags: 'as they are',
  rejectIfMatch: false,
  requireIfMatch: false,
  noAllowableValues: false,
  actionInfo: false,
  resetTypes: ['On', 'ForceOff', 'GracefulShutdown', 'GracefulRestart', 'ForceRestart', 'ForceOn', 'PushPowerButton'],
  paths: {},
  linkBase: '',
  bootViaSettings: false,
  overrideEnabled: ['Disabled', 'Once', 'Continuous'],
  unlistedBootTimes: false,
  bootTargets: ['None', 'Pxe', 'Hdd', 'Cd', 'BiosSetup', 'UefiHttp'],
  bootsBefore: undefined,
  cdTarget: 'UsbCd',
  systemBootTargets: undefined,
  hidesBootMode: false,
  rejectBootMode: false,
  bootPatches: 'done',
  forgetsBootMode: false,
  bootHolds: 'as asked',
  secureBootPatches: 'done',
  unlinkedSettings: false,
  unreadableBiosSettings: false,
  deadSettingsLinks: false,
  tasks: false,
  taskPolls: 1,
  taskList: 'with requests',
  failTasks: false,
  dellJobs: false,
  slowPowerMs: 0,
  ignoredPowerActions: 0,
  answerWithBody: false,
  contentType: 'application/json; charset=utf-8',
  noSessions: false,
  namesSessionIn: 'Location',
  redirectSlash: false,
  manufacturer: 'Baton',
  model: 'Simulated machine',
  sensors: 'of thermal and power',
  locationIndicator: false,
  serialConsole: undefined,
  systemAlias: undefined,
  volumeApplyTimes: ['Immediate', 'OnReset'],
  volumesMadeAfter: undefined,
  volumeDrivesAtTop: false,
  noVolumes: false,
  oneVolumeTask: false,
  deletesLastVolumeOnly: false,
  rejectsDeletionTime: false,
  plainController: false,
  managerResetTypes: ['ForceRestart'],
  noSecureBoot: false,
  virtualMedia: 'of the manager',
  slots: [
    { id: 'Floppy', types: ['Floppy', 'USBStick'] },
    { id: 'CD', types: ['CD', 'DVD'] },
  ],
  media: {},
  managedBy: 'ManagedBy',
  hidesMediaLogin: false,
  collections: 'as they are',
  gzip: 'never',
  simpleUpdate: 'by its URL',
  multipartPush: true,
  pushForm: 'no targets',
  rawPush: false,
  rawPushTargets: [],
  vendor: undefined,
  updatesAtReset: false,
  forgetsTasks: false,
  flashesUntil: undefined,
  firmwareWrittenAfter: undefined,
  logPages: false,
  noBios: false,
  noBiosAttributes: false,
  flatBios: false,
  noBiosSettings: false,
  noAttributeRegistry: false,
  registryFileNames: undefined,
  biosFreedBy: {},
  nullAttributes: [],
  passwordHashes: false,
  biosRefusesMoreThan: Infinity,
  oneBiosJob: false,
  biosRefuses: {},
  biosAppliesAfter: undefined,
  biosTaskEnds: undefined,
  biosFailsAtReset: {},
  biosTakesUnlisted: [],
  biosDrops: [],
  biosListsWaiting: false,
  biosKeeps: [],
  biosTakesAllOrNone: false,
};
