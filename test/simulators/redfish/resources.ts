import { biosPath, biosResources, type SimulatedBios } from '#test/simulators/redfish/bios.ts';
import {
  eventResources,
  eventServicePath,
  type SimulatedSubscriptions,
} from '#test/simulators/redfish/event-service.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import { hardwareLinks, hardwareResources } from '#test/simulators/redfish/hardware.ts';
import type { SimulatedBoot, SimulatedBootDevice } from '#test/simulators/redfish/machine.ts';
import { managerResetPath, resetKeysPath } from '#test/simulators/redfish/manager.ts';
import {
  chassisPath,
  logResources,
  logServicesPath,
  sensorLinks,
  sensorResources,
} from '#test/simulators/redfish/sensors.ts';
import { collection, enabled, registries, services, sessionsPath } from '#test/simulators/redfish/service-resources.ts';
import { drivePaths, type SimulatedStorage, storagePath, storageResources } from '#test/simulators/redfish/storage.ts';
import {
  adapterLink,
  hasUpdates,
  type SimulatedFirmware,
  updateResources,
  updateServicePath,
} from '#test/simulators/redfish/update-service.ts';
import {
  type SimulatedMedia,
  virtualMediaLink,
  virtualMediaResources,
} from '#test/simulators/redfish/virtual-media.ts';

/** The resources as JSON, after DMTF's schemas (versions in `@odata.type`). */

export const systemPath = '/redfish/v1/Systems/1';
export const settingsPath = '/redfish/v1/Systems/1/Settings';
export const resetPath = '/redfish/v1/Systems/1/Actions/ComputerSystem.Reset';
export const secureBootPath = '/redfish/v1/Systems/1/SecureBoot';
/** Paths of what has a lamp. */
export const lampPaths: readonly string[] = [systemPath, chassisPath, ...drivePaths];
const managerLinks = {
  ManagerForServers: [{ '@odata.id': systemPath }],
  ManagerForChassis: [{ '@odata.id': chassisPath }],
};
const systemUuid = '38947555-7742-3448-3784-823347823834';

export type SystemPowerState = 'On' | 'Off' | 'PoweringOn' | 'PoweringOff';

export const bootTargets: Readonly<Record<SimulatedBootDevice, string>> = {
  none: 'None',
  pxe: 'Pxe',
  http: 'UefiHttp',
  disk: 'Hdd',
  cdrom: 'Cd',
  bios: 'BiosSetup',
};

type Resource = Record<string, unknown>;

interface SystemState {
  readonly power: SystemPowerState;
  readonly boot: SimulatedBoot;
}

function lampOf(lamp = 'Off', { locationIndicator }: Quirks): Record<string, unknown> {
  return locationIndicator ? { LocationIndicatorActive: lamp !== 'Off' } : { IndicatorLED: lamp };
}

function bootObject(boot: SimulatedBoot, quirks: Quirks, targets = quirks.bootTargets): Record<string, unknown> {
  const other = boot.device === 'none' ? quirks.bootsBefore : undefined;
  const enabled = boot.device === 'none' ? 'Disabled' : boot.once ? 'Once' : 'Continuous';
  const isUsbCd = boot.device === 'cdrom' && quirks.bootTargets.includes('UsbCd');
  return {
    BootSourceOverrideEnabled: other === undefined ? enabled : 'Continuous',
    BootSourceOverrideTarget: other ?? (isUsbCd ? quirks.cdTarget : bootTargets[boot.device]),
    BootSourceOverrideMode: quirks.hidesBootMode ? null : boot.mode === 'uefi' ? 'UEFI' : 'Legacy',
    ...(quirks.noAllowableValues || targets.length === 0
      ? {}
      : {
          'BootSourceOverrideTarget@Redfish.AllowableValues': targets,
          ...(quirks.unlistedBootTimes
            ? {}
            : { 'BootSourceOverrideEnabled@Redfish.AllowableValues': quirks.overrideEnabled }),
          'BootSourceOverrideMode@Redfish.AllowableValues': ['UEFI', 'Legacy'],
        }),
  };
}

function resetAction(quirks: Quirks): Record<string, unknown> {
  return {
    target: resetPath,
    ...(quirks.noAllowableValues || quirks.actionInfo
      ? {}
      : { 'ResetType@Redfish.AllowableValues': quirks.resetTypes }),
    ...(quirks.actionInfo ? { '@Redfish.ActionInfo': `${systemPath}/ResetActionInfo` } : {}),
  };
}

function computerSystem(state: SystemState, quirks: Quirks): Record<string, unknown> {
  return {
    '@odata.type': '#ComputerSystem.v1_13_0.ComputerSystem',
    Id: '1',
    Name: 'System',
    SystemType: 'Physical',
    Manufacturer: quirks.manufacturer,
    Model: quirks.model,
    SerialNumber: 'SIM-1',
    UUID: systemUuid,
    LogServices: { '@odata.id': logServicesPath },
    PowerState: state.power,
    Status: { State: 'Enabled', Health: 'OK', HealthRollup: 'OK' },
    Boot: bootObject(state.boot, quirks, quirks.systemBootTargets),
    ...((quirks.bootViaSettings && !quirks.unlinkedSettings) || quirks.deadSettingsLinks
      ? {
          '@Redfish.Settings': {
            '@odata.type': '#Settings.v1_3_1.Settings',
            SettingsObject: { '@odata.id': settingsPath },
            SupportedApplyTimes: ['Immediate', 'OnReset'],
          },
        }
      : {}),
    ...(quirks.noSecureBoot ? {} : { SecureBoot: { '@odata.id': secureBootPath } }),
    Storage: { '@odata.id': storagePath },
    ...(quirks.serialConsole ? { SerialConsole: quirks.serialConsole } : {}),
    ...virtualMediaLink(quirks, 'system'),
    ...(quirks.noBios || quirks.flatBios ? {} : { Bios: { '@odata.id': biosPath } }),
    ...(quirks.flatBios ? { Oem: { Hp: { Links: { BIOS: { '@odata.id': biosPath } } } } } : {}),
    ...hardwareLinks(),
    Links: {
      Chassis: [{ '@odata.id': chassisPath }],
      ...(quirks.managedBy === 'nowhere' ? {} : { [quirks.managedBy]: [{ '@odata.id': '/redfish/v1/Managers/1' }] }),
    },
    Actions: { '#ComputerSystem.Reset': resetAction(quirks) },
  };
}

function serviceRoot(quirks: Quirks): Record<string, unknown> {
  return {
    '@odata.type': '#ServiceRoot.v1_9_0.ServiceRoot',
    Id: 'RootService',
    Name: 'Root Service',
    RedfishVersion: '1.11.0',
    UUID: '92384634-2938-2342-8820-489239905423',
    Vendor: quirks.vendor ?? quirks.manufacturer,
    ProtocolFeaturesSupported: { ExcerptQuery: false, ExpandQuery: {}, FilterQuery: false, SelectQuery: false },
    Systems: { '@odata.id': '/redfish/v1/Systems' },
    Chassis: { '@odata.id': '/redfish/v1/Chassis' },
    Managers: { '@odata.id': '/redfish/v1/Managers' },
    AccountService: { '@odata.id': '/redfish/v1/AccountService' },
    Registries: { '@odata.id': '/redfish/v1/Registries' },
    Tasks: { '@odata.id': '/redfish/v1/TaskService' },
    EventService: { '@odata.id': eventServicePath },
    ...(hasUpdates(quirks) ? { UpdateService: { '@odata.id': updateServicePath } } : {}),
    ...(quirks.noSessions ? {} : { SessionService: { '@odata.id': '/redfish/v1/SessionService' } }),
    Links: quirks.noSessions ? {} : { Sessions: { '@odata.id': sessionsPath } },
  };
}

export interface ResourceContext {
  readonly quirks: Quirks;
  readonly username: string;
  readonly sessionIds: readonly string[];
  readonly system: SystemState;
  /** The boot override that waits in the Settings resource. */
  readonly pendingBoot: SimulatedBoot;
  readonly bios: SimulatedBios;
  readonly storage: SimulatedStorage;
  readonly firmware: SimulatedFirmware;
  readonly subscriptions: SimulatedSubscriptions;
  readonly secureBoot: boolean;
  readonly secureBootKeys: 'maker' | 'none';
  readonly clock: string | undefined;
  readonly media: SimulatedMedia;
  readonly lamps: ReadonlyMap<string, string>;
  /** Addresses of its network cards. */
  readonly macs: readonly string[];
}

function secureBootResource({ quirks, secureBoot, secureBootKeys }: ResourceContext): Record<string, Resource> {
  if (quirks.noSecureBoot) return {};
  return {
    [secureBootPath]: {
      '@odata.type': '#SecureBoot.v1_1_0.SecureBoot',
      Id: 'SecureBoot',
      Name: 'Secure boot',
      SecureBootEnable: secureBoot,
      SecureBootCurrentBoot: secureBoot ? 'Enabled' : 'Disabled',
      SecureBootMode: secureBootKeys === 'none' ? 'SetupMode' : 'UserMode',
      Actions: { '#SecureBoot.ResetKeys': { target: resetKeysPath } },
    },
  };
}

/** Every resource of the service by its path, without `@odata.id` and `@odata.etag`. */
export function renderResources(context: ResourceContext): Record<string, Record<string, unknown>> {
  const resources = withoutLamps(context);
  for (const path of lampPaths) Object.assign(resources[path] ?? {}, lampOf(context.lamps.get(path), context.quirks));
  return resources;
}

function withoutLamps(context: ResourceContext): Record<string, Record<string, unknown>> {
  const { quirks } = context;
  return {
    '/redfish': { v1: '/redfish/v1/' },
    '/redfish/v1': serviceRoot(quirks),
    '/redfish/v1/odata': {
      '@odata.context': '/redfish/v1/$metadata',
      value: [{ name: 'Service', kind: 'Singleton', url: '/redfish/v1/' }],
    },
    '/redfish/v1/Systems': collection('ComputerSystemCollection', 'Systems', [systemPath]),
    [systemPath]: { ...computerSystem(context.system, quirks), BiosVersion: context.firmware.versions.bios },
    ...secureBootResource(context),
    ...(quirks.bootViaSettings
      ? {
          [settingsPath]: {
            '@odata.type': '#ComputerSystem.v1_13_0.ComputerSystem',
            Id: 'Settings',
            Name: 'Pending settings',
            Boot: bootObject(context.pendingBoot, quirks),
          },
        }
      : {}),
    ...(quirks.actionInfo
      ? {
          [`${systemPath}/ResetActionInfo`]: {
            '@odata.type': '#ActionInfo.v1_1_2.ActionInfo',
            Id: 'ResetActionInfo',
            Name: 'Reset Action Info',
            Parameters: [{ Name: 'ResetType', Required: true, DataType: 'String', AllowableValues: quirks.resetTypes }],
          },
        }
      : {}),
    '/redfish/v1/Chassis': collection('ChassisCollection', 'Chassis', [chassisPath]),
    [chassisPath]: {
      '@odata.type': '#Chassis.v1_14_0.Chassis',
      Id: '1',
      Name: 'Chassis',
      ChassisType: 'RackMount',
      Manufacturer: quirks.manufacturer,
      PowerState: context.system.power,
      Status: enabled,
      ...sensorLinks(quirks),
      ...adapterLink(quirks),
      Links: {
        ComputerSystems: [{ '@odata.id': systemPath }],
        ManagedBy: [{ '@odata.id': '/redfish/v1/Managers/1' }],
      },
    },
    '/redfish/v1/Managers': collection('ManagerCollection', 'Managers', ['/redfish/v1/Managers/1']),
    '/redfish/v1/Managers/1': {
      '@odata.type': '#Manager.v1_11_0.Manager',
      Id: '1',
      Name: 'Manager',
      ManagerType: 'BMC',
      FirmwareVersion: context.firmware.versions.bmc,
      ...(context.clock === undefined ? {} : { DateTime: context.clock }),
      Actions: {
        '#Manager.Reset': {
          target: managerResetPath,
          ...(quirks.noAllowableValues ? {} : { 'ResetType@Redfish.AllowableValues': quirks.managerResetTypes }),
        },
      },
      PowerState: 'On',
      Status: enabled,
      ...virtualMediaLink(quirks, 'manager'),
      Links: managerLinks,
    },
    ...sensorResources(quirks),
    ...logResources(quirks),
    ...services(context),
    ...biosResources(context.bios, quirks),
    ...storageResources(context.storage, quirks),
    ...hardwareResources(context.macs),
    ...updateResources(context.firmware, quirks),
    ...eventResources(context.subscriptions),
    ...virtualMediaResources(context.media, quirks),
    ...registries(quirks),
  };
}
