import type { Quirks } from '#test/simulators/redfish/faults.ts';

/**
 * Vendors whose BMCs' published trees are shown, as far as a driver meets them: PowerEdge R750, ProLiant DL385 Gen10
 * Plus v2, ThinkSystem SR670 V2, SYS-821GE-TNHR, H262-Z63, OpenBMC's bmcweb, DGX H100, BlueField-3.
 */
export const vendorNames = ['Dell', 'HPE', 'Lenovo', 'Supermicro', 'Gigabyte', 'OpenBMC', 'DGX', 'BlueField'] as const;
export type VendorName = (typeof vendorNames)[number];

const usual = ['None', 'Pxe', 'Cd', 'Hdd', 'BiosSetup', 'Usb'];
const ami = [
  ...usual,
  'Floppy',
  'Utilities',
  'UefiShell',
  'UefiTarget',
  'SDCard',
  'UefiHttp',
  'RemoteDrive',
  'UefiBootNext',
];

/** The simulator's paths → what the vendor calls them. */
function named(
  names: Readonly<Record<'system' | 'manager' | 'chassis', string>>,
  others: Quirks['paths'] = {},
): Quirks['paths'] {
  return {
    '/redfish/v1/Systems/1': `/redfish/v1/Systems/${names.system}`,
    '/redfish/v1/Managers/1': `/redfish/v1/Managers/${names.manager}`,
    '/redfish/v1/Chassis/1': `/redfish/v1/Chassis/${names.chassis}`,
    ...others,
  };
}

export const vendors: Readonly<Record<VendorName, Partial<Quirks>>> = {
  Dell: {
    manufacturer: 'Dell Inc.',
    paths: named(
      { system: 'System.Embedded.1', manager: 'iDRAC.Embedded.1', chassis: 'System.Embedded.1' },
      { '/redfish/v1/UpdateService/upload': '/redfish/v1/UpdateService/MultipartUpload' },
    ),
    resetTypes: [
      'On',
      'ForceOff',
      'ForceRestart',
      'GracefulRestart',
      'GracefulShutdown',
      'PushPowerButton',
      'Nmi',
      'PowerCycle',
    ],
    bootTargets: [...usual, 'Floppy', 'Utilities', 'UefiTarget', 'SDCard', 'UefiHttp'],
    unlistedBootTimes: true,
    managerResetTypes: ['GracefulRestart'],
    oneBiosJob: true,
    passwordHashes: true,
    registryFileNames: { id: 'BiosAttributeRegistry.v1_0_0', registry: 'BiosAttributeRegistry1.0' },
    updatesAtReset: true,
    virtualMedia: 'of the system',
    slots: ['1', '2'].map((id) => ({ id, types: ['CD', 'DVD', 'USBStick'] })),
  },
  HPE: {
    manufacturer: 'HPE',
    multipartPush: false,
    paths: {
      '/redfish/v1/Systems/1/Bios': '/redfish/v1/Systems/1/bios',
      '/redfish/v1/Systems/1/Bios/Settings': '/redfish/v1/Systems/1/bios/settings',
    },
    resetTypes: ['On', 'ForceOff', 'GracefulShutdown', 'ForceRestart', 'Nmi', 'PushPowerButton', 'GracefulRestart'],
    slots: [
      { id: '1', types: ['Floppy', 'USBStick'] },
      { id: '2', types: ['CD', 'DVD'] },
    ],
    bootTargets: [...usual, 'SDCard', 'Utilities', 'Diags', 'UefiShell', 'UefiHttp', 'UefiTarget'],
    unlistedBootTimes: true,
    weakEtagOnly: true,
    volumeApplyTimes: ['OnReset'],
    volumeDrivesAtTop: true,
  },
  Lenovo: {
    manufacturer: 'Lenovo',
    paths: {
      '/redfish/v1/Systems/1/Settings': '/redfish/v1/Systems/1/Pending',
      '/redfish/v1/Systems/1/Bios/Settings': '/redfish/v1/Systems/1/Bios/Pending',
      '/redfish/v1/Managers/1/VirtualMedia': '/redfish/v1/Systems/1/VirtualMedia',
      '/redfish/v1/UpdateService/upload': '/mfwupdate',
    },
    resetTypes: ['On', 'Nmi', 'GracefulShutdown', 'GracefulRestart', 'ForceOn', 'ForceOff', 'ForceRestart'],
    overrideEnabled: ['Once', 'Disabled'],
    bootTargets: [...usual, 'Diags', 'UefiTarget'],
    virtualMedia: 'by PATCH',
    // those for uploads stand first, and take no address (python-redfish-lenovo, issue 21)
    slots: [
      ...['RDOC1', 'RDOC2', 'Remote1'].map((id) => ({ id, types: ['CD', 'DVD'], refuses: 400 })),
      ...['EXT1', 'EXT2'].map((id) => ({ id, types: ['CD', 'DVD'] })),
    ],
    requireIfMatch: true,
  },
  Supermicro: {
    pushForm: 'the resource',
    manufacturer: 'Supermicro',
    locationIndicator: true,
    paths: {
      '/redfish/v1/Systems/1/VirtualMedia': '/redfish/v1/Managers/1/VirtualMedia',
    },
    actionInfo: true,
    bootTargets: [...usual, 'Floppy', 'UsbCd', 'UefiBootNext', 'UefiHttp'],
    unlistedBootTimes: true,
    managerResetTypes: ['GracefulRestart'],
    simpleUpdate: 'with its protocol',
    virtualMedia: 'of the system',
    slots: [{ id: 'VirtualMedia1', types: ['CD', 'DVD'] }],
    media: { shows: 'left over', refuses: ['Inserted', 'WriteProtected'] },
    volumeApplyTimes: [],
  },
  Gigabyte: {
    vendor: 'AMI',
    pushForm: 'an item and its type',
    manufacturer: 'GIGABYTE',
    paths: named(
      { system: 'Self', manager: 'Self', chassis: 'Self' },
      { '/redfish/v1/Systems/1/Bios/Settings': '/redfish/v1/Systems/Self/Bios/SD' },
    ),
    actionInfo: true,
    bootTargets: ami,
    requireIfMatch: true,
    weakEtagOnly: true,
    media: { needs: ['TransferProtocolType'], refusal: { status: 400, named: 'nowhere' } },
  },
  OpenBMC: {
    pushForm: 'the resource',
    manufacturer: 'OpenBMC',
    sensors: 'one by one',
    locationIndicator: true,
    paths: named({ system: 'system', manager: 'bmc', chassis: 'chassis' }),
    // the first one is the console's (Ironic, Cisco C845A M8)
    slots: [
      { id: 'Slot_0', types: ['CD', 'USBStick'], refuses: 405 },
      { id: 'Slot_2', types: ['CD', 'USBStick'] },
    ],
    resetTypes: [
      'On',
      'ForceOff',
      'ForceOn',
      'ForceRestart',
      'GracefulRestart',
      'GracefulShutdown',
      'PowerCycle',
      'Nmi',
    ],
    actionInfo: true,
    bootTargets: [...usual, 'Diags'],
    managerResetTypes: ['GracefulRestart', 'ForceRestart'],
    noBiosAttributes: true,
    noSecureBoot: true,
    noVolumes: true,
  },
  DGX: {
    pushForm: 'an empty list',
    manufacturer: 'NVIDIA',
    paths: named(
      { system: 'DGX', manager: 'BMC', chassis: 'DGX' },
      {
        '/redfish/v1/Systems/1/Settings': '/redfish/v1/Systems/DGX/SD',
        '/redfish/v1/Systems/1/Bios/Settings': '/redfish/v1/Systems/DGX/Bios/SD',
        '/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate':
          '/redfish/v1/UpdateService/Actions/SimpleUpdate',
      },
    ),
    actionInfo: true,
    bootViaSettings: true,
    bootTargets: ami,
    systemBootTargets: [],
    hidesBootMode: true,
    managerResetTypes: ['GracefulRestart', 'ForceRestart'],
    requireIfMatch: true,
    media: { needs: ['UserName', 'Password'] },
    tasks: true,
    noVolumes: true,
  },
  BlueField: {
    manufacturer: 'https://www.mellanox.com',
    sensors: 'one by one',
    paths: named({ system: 'Bluefield', manager: 'Bluefield_BMC', chassis: 'Bluefield_BMC' }),
    actionInfo: true,
    resetTypes: [
      'On',
      'ForceOff',
      'ForceOn',
      'ForceRestart',
      'GracefulRestart',
      'GracefulShutdown',
      'PowerCycle',
      'Nmi',
    ],
    bootViaSettings: true,
    bootTargets: [...usual, 'Diags'],
    systemBootTargets: ['None', 'Pxe', 'UefiHttp', 'UefiShell', 'UefiTarget', 'UefiBootNext'],
    managerResetTypes: ['GracefulRestart'],
    noEtag: true,
    noVolumes: true,
    virtualMedia: 'none',
  },
};
