import { stoppedError } from '#conductor/drivers/call-deadline.ts';
import type { DriverDefinition, HardwareType } from '#conductor/drivers/driver-definition.ts';
import type {
  BiosInterface,
  BootDeviceSetting,
  CallOptions,
  FirmwareBootInterface,
  Health,
} from '#conductor/drivers/interfaces.ts';
import {
  type BootMode,
  bootDevices,
  type PowerState,
  powerStateAfter,
  powerTargets,
} from '#conductor/model/power-and-boot.ts';
import { type BiosSetting, bareSetting, type WantedBiosSetting } from '#shared/bios/bios-setting.ts';
import { checkSettings, hasValue } from '#shared/bios/check-settings.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** The firmware of a fake machine: a few settings of every type, which take effect when it powers on or resets. */
interface FakeBios {
  settings: readonly BiosSetting[];
  pending: readonly WantedBiosSetting[];
  defaultsPending: boolean;
}

const common = { reset_required: true, read_only: false, unique: false };

const defaults: readonly BiosSetting[] = [
  { ...bareSetting('BootMode', 'Uefi'), ...common, attribute_type: 'Enumeration', allowable_values: ['Uefi', 'Bios'] },
  {
    ...bareSetting('SysProfile', 'PerfPerWatt'),
    ...common,
    attribute_type: 'Enumeration',
    allowable_values: ['PerfPerWatt', 'Performance', 'Custom'],
  },
  { ...bareSetting('NumCores', '8'), ...common, attribute_type: 'Integer', lower_bound: 1, upper_bound: 8 },
  { ...bareSetting('Virtualization', 'true'), ...common, attribute_type: 'Boolean' },
  { ...bareSetting('AssetTag', ''), ...common, attribute_type: 'String', min_length: 0, max_length: 63, unique: true },
  { ...bareSetting('BiosVersion', '1.0'), ...common, attribute_type: 'String', read_only: true },
];

function createFakeBios(): FakeBios {
  return { settings: defaults, pending: [], defaultsPending: false };
}

/** Does what the firmware does at power-on. */
function bootFakeBios(bios: FakeBios): void {
  const base = bios.defaultsPending ? defaults : bios.settings;
  const values = new Map(bios.pending.map(({ name, value }) => [name, value]));
  bios.settings = base.map((setting) => ({ ...setting, value: values.get(setting.name) ?? setting.value }));
  bios.pending = [];
  bios.defaultsPending = false;
}

/** One machine that exists in memory only. */
export interface FakeMachine {
  powerState: PowerState | undefined;
  health: Health | null;
  boot: BootDeviceSetting;
  bootMode: BootMode | undefined;
  secureBoot: boolean | undefined;
  nmis: number;
  bios: FakeBios;
  /** By node: its power on record when it was last looked at. */
  readonly onRecord: Map<string, PowerState>;
}

type FakeAction =
  | 'getPowerState'
  | 'setPowerState'
  | 'getBootDevice'
  | 'setBootDevice'
  | 'getBootMode'
  | 'readFirmwareBoot'
  | 'setBootMode'
  | 'setSecureBoot'
  | 'injectNmi'
  | 'getBiosSettings'
  | 'getBiosProgress'
  | 'applyBiosSettings'
  | 'resetBios';

export interface FakeOptions {
  /**
   * Called before each action takes effect. Throw to make it fail, wait to make it slow, change the machine to make
   * hardware do what nobody asked for.
   */
  readonly beforeAction?: (action: FakeAction, fakeId: string, machine: FakeMachine) => void | Promise<void>;
}

/**
 * Driver of simulated machines. The interfaces `fake` are the default, as in Ironic: nothing is done at the machine.
 * With `deploy_interface` `direct`, `inspect_interface` or `rescue_interface` `agent` it waits for an agent, as any
 * other node.
 */
export const fakeDriver: DriverDefinition<FakeOptions> = {
  name: 'fake-hardware',
  fields: {
    fake_id: {
      meaning: 'Which fake machine this is; nodes with the same value share one. Optional.',
      site: { name: 'fake_id', value: 'text' },
    },
  },
  interfaces: {
    bios: ['fake', 'no-bios'],
    boot: ['fake', 'ipxe', 'pxe', 'http', 'http-ipxe'],
    console: ['fake', 'no-console'],
    deploy: ['fake', 'direct', 'custom-agent', 'ramdisk'],
    firmware: ['fake', 'no-firmware'],
    inspect: ['fake', 'agent', 'no-inspect'],
    management: ['fake'],
    power: ['fake'],
    raid: ['fake', 'agent', 'no-raid'],
    rescue: ['fake', 'agent', 'no-rescue'],
    storage: ['noop', 'fake', 'external'],
    vendor: ['fake', 'no-vendor'],
  },
  site: { types: ['fake', 'fake-hardware'] },
  open: (_context, options) => fakeHardwareType(options),
};

/** Setting that Ironic's driver shows where nobody has set it. */
const bootsByItself: BootDeviceSetting = { bootDevice: 'pxe', persistent: true };

/**
 * The `fake-hardware` type, as Ironic's: no driver_info is required and every action works at once. Nodes with the same
 * `fake_id` (or all without) are one machine; machines last as long as this value, but for their power, which is as it is
 * on record where another conductor, or this one before its restart, has switched it.
 */
export function fakeHardwareType(options: FakeOptions = {}): HardwareType {
  const machines = new Map<string, FakeMachine>();
  const machineOf = (fakeId: string): FakeMachine => {
    const machine = machines.get(fakeId) ?? {
      powerState: 'power off',
      health: null,
      boot: bootsByItself,
      bootMode: undefined,
      secureBoot: undefined,
      nmis: 0,
      bios: createFakeBios(),
      onRecord: new Map(),
    };
    machines.set(fakeId, machine);
    return machine;
  };
  return {
    connect: (driverInfo, stored) => {
      const fakeId = parseFakeId(driverInfo['fake_id']);
      const isNew = !machines.has(fakeId);
      if (stored?.powerState) followRecord(machineOf(fakeId), stored.uuid, stored.powerState, isNew);
      const act = async <T>(action: FakeAction, call: CallOptions | undefined, then: (machine: FakeMachine) => T) => {
        if (call?.signal?.aborted) throw stoppedError(call.signal, `${action} of fake machine ${fakeId}`);
        const machine = machineOf(fakeId);
        await options.beforeAction?.(action, fakeId, machine);
        return then(machine);
      };
      return {
        power: {
          supportedTargets: powerTargets,
          getPowerState: (call) => act('getPowerState', call, (machine) => machine.powerState),
          getPowerAndHealth: (call) => act('getPowerState', call, ({ powerState, health }) => ({ powerState, health })),
          setPowerState: (target, call) =>
            act('setPowerState', call, (machine) => {
              const boots =
                powerStateAfter(target) === 'power on' && (target !== 'power on' || machine.powerState !== 'power on');
              machine.powerState = powerStateAfter(target);
              if (boots) bootFakeBios(machine.bios);
              if (boots && machine.boot.persistent === false) {
                machine.boot = bootsByItself;
              }
            }),
        },
        management: {
          supportedBootDevices: bootDevices,
          getBootDevice: (call) => act('getBootDevice', call, (machine) => machine.boot),
          getBootMode: (call) => act('getBootMode', call, (machine) => machine.bootMode),
          injectNmi: (call) =>
            act('injectNmi', call, (machine) => {
              machine.nmis += 1;
            }),
          setBootDevice: (bootDevice, call) =>
            act('setBootDevice', call, (machine) => {
              machine.boot = { bootDevice, persistent: call.persistent };
              machine.bootMode = call.bootMode ?? machine.bootMode;
              return { persistent: call.persistent };
            }),
        },
        bios: fakeBios(act),
        firmwareBoot: fakeFirmwareBoot(act),
      };
    },
  };
}

/** Follows a change on record, which another process has made since. */
function followRecord(machine: FakeMachine, uuid: string, powerState: PowerState, isNew: boolean): void {
  const before = machine.onRecord.get(uuid);
  machine.onRecord.set(uuid, powerState);
  if (isNew || (before !== undefined && before !== powerState)) machine.powerState = powerState;
}

type Act = <T>(action: FakeAction, call: CallOptions | undefined, then: (machine: FakeMachine) => T) => Promise<T>;

function fakeFirmwareBoot(act: Act): FirmwareBootInterface {
  return {
    read: (call) => act('readFirmwareBoot', call, ({ bootMode, secureBoot }) => ({ bootMode, secureBoot })),
    setBootMode: (mode, call) =>
      act('setBootMode', call, (machine) => {
        machine.bootMode = mode;
      }),
    setSecureBoot: (on, call) =>
      act('setSecureBoot', call, (machine) => {
        machine.secureBoot = on;
      }),
  };
}

function fakeBios(act: Act): BiosInterface {
  return {
    getSettings: (call) => act('getBiosSettings', call, ({ bios }) => bios.settings),
    getProgress: (call) =>
      act('getBiosProgress', call, ({ bios }) => ({
        values: new Map(bios.settings.map(({ name, value }) => [name, value])),
        pending: bios.pending,
        defaultsPending: bios.defaultsPending,
        isShown: true,
        failures: [],
      })),
    applySettings: (settings, call) =>
      act('applyBiosSettings', call, ({ bios }) => {
        try {
          checkSettings(bios.settings, settings);
        } catch (cause) {
          throw new AppError('bmc_error', 'set BIOS settings of a fake machine', { cause });
        }
        const names = new Set(settings.map(({ name }) => name));
        const current = new Map(bios.settings.map((setting) => [setting.name, setting]));
        bios.pending = [
          ...bios.pending.filter(({ name }) => !names.has(name)),
          ...settings.filter(({ name, value }) => !hasValue(current.get(name), value)),
        ];
        return undefined;
      }),
    factoryReset: (call) =>
      act('resetBios', call, ({ bios }) => {
        bios.defaultsPending = true;
        bios.pending = [];
        return { task: undefined, isClear: true };
      }),
    getTaskProgress: () => Promise.resolve({ state: 'lost', percent: undefined }),
  };
}

function parseFakeId(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  throw new AppError('invalid_argument', 'driver_info for fake-hardware: fake_id must be text or a number');
}
