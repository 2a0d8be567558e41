import { z } from 'zod';

/**
 * Shapes of the simulator's answers by DMTF's schemas (DSP8010 2026.1), written down by hand: properties with their
 * types and words, those that a resource must have, and no others. Where the simulator gets another one, look it up
 * there first.
 */

const text = z.string().nullable();
const number = z.number().nullable();
const flag = z.boolean().nullable();
const link = z.strictObject({ '@odata.id': z.string().startsWith('/redfish/v1/') });
const links = z.array(link);
const health = z.enum(['OK', 'Warning', 'Critical']).nullable();
const status = z
  .strictObject({ State: z.enum(['Enabled', 'Disabled', 'Absent', 'Updating']).nullable(), Health: health })
  .extend({ HealthRollup: health })
  .partial();
const action = z.looseObject({ target: z.string().startsWith('/redfish/v1/') });
const power = z.enum(['On', 'Off', 'PoweringOn', 'PoweringOff', 'Paused']).nullable();
const lamp = z.enum(['Lit', 'Blinking', 'Off']).nullable();
const oem = z.record(z.string(), z.record(z.string(), z.unknown()));
const identifiers = z.array(z.strictObject({ DurableName: text, DurableNameFormat: text }).partial());

/** Properties that all bodies with a type have. */
const head = { '@odata.id': z.string(), '@odata.type': z.string(), '@odata.etag': z.string().optional() };
const resource = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject({ ...head, Id: z.string(), Name: z.string(), Status: status.optional(), ...shape });
/** All but what must be there. */
const may = <Shape extends z.ZodRawShape>(shape: Shape) => z.object(shape).partial().shape;

const settings = z.strictObject({
  '@odata.type': z.string(),
  SettingsObject: link,
  SupportedApplyTimes: z.array(
    z.enum(['Immediate', 'OnReset', 'AtMaintenanceWindowStart', 'InMaintenanceWindowOnReset']),
  ),
  Messages: z.array(z.looseObject({ MessageId: z.string(), Message: z.string() })).optional(),
});
const boot = z
  .strictObject({
    BootSourceOverrideEnabled: z.enum(['Disabled', 'Once', 'Continuous']).nullable(),
    BootSourceOverrideTarget: z
      .enum(['None', 'Pxe', 'Floppy', 'Cd', 'Usb', 'Hdd', 'BiosSetup', 'Utilities', 'Diags', 'UefiShell', 'UefiTarget'])
      .or(z.enum(['SDCard', 'UefiHttp', 'RemoteDrive', 'UefiBootNext', 'Recovery', 'UsbCd']))
      .nullable(),
    BootSourceOverrideMode: z.enum(['Legacy', 'UEFI']).nullable(),
    'BootSourceOverrideEnabled@Redfish.AllowableValues': z.array(z.string()),
    'BootSourceOverrideTarget@Redfish.AllowableValues': z.array(z.string()),
    'BootSourceOverrideMode@Redfish.AllowableValues': z.array(z.string()),
  })
  .partial();
const reading = { '@odata.id': z.string(), MemberId: z.string(), ...may({ Name: text, Status: status }) };
const message = z.looseObject({ MessageId: z.string(), MessageSeverity: health.optional(), Severity: text.optional() });

const services = {
  ServiceRoot: resource({
    Links: z.strictObject({ Sessions: link }).partial(),
    ...may({ RedfishVersion: z.string(), UUID: text, Vendor: text, ProtocolFeaturesSupported: z.looseObject({}) }),
    ...may({ Systems: link, Chassis: link, Managers: link, AccountService: link, Registries: link, Tasks: link }),
    ...may({ EventService: link, UpdateService: link, SessionService: link }),
  }),
  AccountService: resource(may({ ServiceEnabled: flag, Accounts: link })),
  ManagerAccount: resource({
    AccountTypes: z.array(z.enum(['Redfish', 'IPMI', 'WebUI', 'OEM'])),
    ...may({ UserName: z.string(), Password: z.null(), RoleId: z.string(), Enabled: z.boolean(), Locked: z.boolean() }),
    ...may({ Links: z.looseObject({}) }),
  }),
  SessionService: resource(may({ ServiceEnabled: flag, SessionTimeout: z.number(), Sessions: link })),
  Session: resource(may({ UserName: text, Password: z.null() })),
  TaskService: resource(may({ ServiceEnabled: flag, Tasks: link })),
  Task: resource({
    ...may({ TaskState: z.enum(['New', 'Pending', 'Running', 'Completed', 'Exception']), TaskStatus: health }),
    ...may({ TaskMonitor: z.string(), Messages: z.array(message) }),
    ...may({ Payload: z.strictObject(may({ HttpOperation: text, TargetUri: text })) }),
  }),
  EventService: resource({
    ...may({ ServiceEnabled: flag, DeliveryRetryAttempts: z.number(), DeliveryRetryIntervalSeconds: z.number() }),
    ...may({
      EventTypesForSubscription: z.array(z.string()),
      Subscriptions: link,
      Actions: z.record(z.string(), action),
    }),
  }),
  EventDestination: resource({
    Destination: z.string(),
    Protocol: z.enum(['Redfish', 'OEM']),
    Context: text,
    SubscriptionType: z.enum(['RedfishEvent', 'SSE', 'SNMPTrap', 'OEM']).nullable(),
    ...may({ EventTypes: z.array(z.string()), HttpHeaders: z.array(z.never()) }),
  }),
  UpdateService: resource({
    ...may({
      ServiceEnabled: flag,
      FirmwareInventory: link,
      MultipartHttpPushUri: z.string(),
      HttpPushUri: z.string(),
    }),
    ...may({ HttpPushUriTargets: z.array(z.string()).nullable(), Actions: z.record(z.string(), action) }),
  }),
  SoftwareInventory: resource(may({ Version: text, Updateable: flag, RelatedItem: links })),
  MessageRegistryFile: resource({
    Registry: z.string(),
    Languages: z.array(z.string()),
    Location: z.array(z.strictObject({ Language: z.string(), Uri: z.string() })),
  }),
};

const registry = {
  ...head,
  '@odata.id': z.string().optional(),
  Id: z.string(),
  Name: z.string(),
  Language: z.string(),
  RegistryVersion: z.string(),
  OwningEntity: z.string(),
};
const registries = {
  MessageRegistry: z.strictObject({
    ...registry,
    RegistryPrefix: z.string(),
    Messages: z.record(
      z.string(),
      z.looseObject({ Description: z.string(), Message: z.string(), NumberOfArgs: z.number(), Resolution: z.string() }),
    ),
  }),
  AttributeRegistry: z.strictObject({
    ...registry,
    SupportedSystems: z.array(z.strictObject({ ProductName: text, SystemId: text, FirmwareVersion: text })).optional(),
    RegistryEntries: z.strictObject({
      Attributes: z.array(
        z.looseObject({
          AttributeName: z.string(),
          Type: z.enum(['Enumeration', 'String', 'Integer', 'Boolean', 'Password']),
        }),
      ),
      Dependencies: z.array(z.never()).optional(),
      Menus: z.array(z.never()).optional(),
    }),
  }),
};

const machine = {
  ComputerSystem: resource({
    ...may({ SystemType: z.enum(['Physical', 'Virtual']), Manufacturer: text, Model: text, SerialNumber: text }),
    ...may({ UUID: text, BiosVersion: text, PowerState: power, Boot: boot, '@Redfish.Settings': settings }),
    ...may({ IndicatorLED: lamp, LocationIndicatorActive: flag, SerialConsole: z.looseObject({}), Oem: oem }),
    ...may({ Bios: link, SecureBoot: link, Storage: link, LogServices: link, VirtualMedia: link }),
    ...may({ Processors: link, Memory: link, EthernetInterfaces: link }),
    ...may({
      ProcessorSummary: z.strictObject({ Count: number, LogicalProcessorCount: number, Model: text, Status: status }),
    }),
    ...may({ MemorySummary: z.strictObject({ TotalSystemMemoryGiB: number, Status: status }) }),
    ...may({ Links: z.strictObject({ Chassis: links, ManagedBy: links.optional() }) }),
    ...may({ Actions: z.record(z.string(), z.looseObject({})) }),
  }),
  Processor: resource({
    ...may({
      Socket: text,
      ProcessorType: z.enum(['CPU', 'GPU', 'FPGA', 'DSP', 'Accelerator', 'Core', 'Thread', 'OEM']),
    }),
    ...may({ ProcessorArchitecture: z.enum(['x86', 'IA-64', 'ARM', 'MIPS', 'Power', 'RISC-V', 'OEM']).nullable() }),
    ...may({
      InstructionSet: z.enum(['x86', 'x86-64', 'IA-64', 'ARM-A32', 'ARM-A64', 'MIPS64', 'PowerISA']).nullable(),
    }),
    ...may({ Manufacturer: text, Model: text, MaxSpeedMHz: number, TotalCores: number, TotalThreads: number }),
  }),
  Memory: resource(may({ CapacityMiB: number, MemoryDeviceType: text, OperatingSpeedMhz: number })),
  EthernetInterface: resource({
    ...may({ MACAddress: text, PermanentMACAddress: text, SpeedMbps: number, InterfaceEnabled: flag }),
    ...may({ LinkStatus: z.enum(['LinkUp', 'NoLink', 'LinkDown']).nullable() }),
  }),
  ActionInfo: resource({ Parameters: z.array(z.looseObject({ Name: z.string(), AllowableValues: z.array(text) })) }),
  Bios: resource({
    ...may({ AttributeRegistry: text, ResetBiosToDefaultsPending: flag, '@Redfish.Settings': settings }),
    ...may({ Attributes: z.record(z.string(), z.union([text, number, flag])), Actions: z.record(z.string(), action) }),
  }),
  SecureBoot: resource({
    ...may({ SecureBootEnable: flag, SecureBootCurrentBoot: z.enum(['Enabled', 'Disabled']).nullable() }),
    ...may({ SecureBootMode: z.enum(['SetupMode', 'UserMode', 'AuditMode', 'DeployedMode']).nullable() }),
    ...may({ Actions: z.record(z.string(), action) }),
  }),
  Chassis: resource({
    ChassisType: z.enum(['Rack', 'Blade', 'Enclosure', 'StandAlone', 'RackMount', 'Sled']),
    ...may({ Manufacturer: text, PowerState: power, IndicatorLED: lamp, LocationIndicatorActive: flag }),
    ...may({ Thermal: link, Power: link, Sensors: link, NetworkAdapters: link }),
    ...may({ Links: z.strictObject({ ComputerSystems: links, ManagedBy: links }) }),
  }),
  Manager: resource({
    ...may({ ManagerType: z.enum(['BMC', 'EnclosureManager', 'ManagementController']), FirmwareVersion: text }),
    ...may({ PowerState: power, DateTime: text, VirtualMedia: link, Actions: z.record(z.string(), action) }),
    ...may({ Links: z.strictObject({ ManagerForServers: links, ManagerForChassis: links }) }),
  }),
  VirtualMedia: resource({
    ...may({ MediaTypes: z.array(z.enum(['CD', 'Floppy', 'USBStick', 'DVD'])), Image: text, ImageName: text }),
    ...may({ Inserted: flag, WriteProtected: flag, VerifyCertificate: flag, Certificates: link }),
    ...may({ ConnectedVia: z.enum(['NotConnected', 'URI', 'Applet', 'Oem']).nullable() }),
    ...may({ Actions: z.record(z.string(), action) }),
  }),
  Certificate: resource({ CertificateString: text, CertificateType: z.enum(['PEM', 'PKCS7']).nullable() }),
  Thermal: resource({
    Temperatures: z.array(z.strictObject({ ...reading, ReadingCelsius: number })),
    Fans: z.array(z.strictObject({ ...reading, Reading: number, ReadingUnits: z.enum(['RPM', 'Percent']) })),
  }),
  Power: resource({ PowerControl: z.array(z.strictObject({ ...reading, PowerConsumedWatts: number })) }),
  Sensor: resource(
    may({ ReadingType: z.enum(['Temperature', 'Rotational', 'Power']), Reading: number, ReadingUnits: text }),
  ),
  LogService: resource(may({ LogEntryType: z.enum(['Event', 'SEL', 'Multiple', 'OEM']).nullable(), Entries: link })),
  LogEntry: resource({
    EntryType: z.enum(['Event', 'SEL', 'Oem']),
    ...may({ Created: z.string(), Severity: health, Message: text }),
  }),
  NetworkAdapter: resource(may({ Controllers: z.array(z.strictObject(may({ FirmwarePackageVersion: text }))) })),
};

const collection = z.strictObject({
  ...head,
  Name: z.string(),
  // some show entries whole
  Members: z.array(link.or(machine.LogEntry)),
  'Members@odata.count': z.number(),
  'Members@odata.nextLink': z.string().optional(),
  '@Redfish.OperationApplyTimeSupport': z.looseObject({ SupportedValues: z.array(z.string()) }).optional(),
});

const storage = {
  Storage: resource({
    ...may({ Drives: links, Volumes: link }),
    StorageControllers: z.array(
      z.strictObject({
        '@odata.id': z.string(),
        MemberId: z.string(),
        ...may({ Name: z.string(), SupportedRAIDTypes: z.array(z.string()) }),
      }),
    ),
  }),
  Drive: resource({
    ...may({ CapacityBytes: number, MediaType: z.enum(['HDD', 'SSD', 'SMR']).nullable(), Protocol: text, Model: text }),
    ...may({ Manufacturer: text, SerialNumber: text, Identifiers: identifiers }),
    ...may({ IndicatorLED: lamp, LocationIndicatorActive: flag }),
  }),
  Volume: resource({
    ...may({ RAIDType: text, VolumeType: text, CapacityBytes: number, Identifiers: identifiers }),
    ...may({ Links: z.looseObject({ Drives: links }) }),
  }),
};

const errors = z.strictObject({
  error: z.strictObject({ code: z.string(), message: z.string(), '@Message.ExtendedInfo': z.array(message) }),
});

const shapes: Readonly<Record<string, z.ZodType>> = { ...services, ...registries, ...machine, ...storage };

/** How an answer's body differs from what the schema of its type says; `undefined` = not. */
export function differenceFromDmtf(body: unknown): string | undefined {
  const type = z.looseObject({ '@odata.type': z.string() }).safeParse(body).data?.['@odata.type'];
  const name = /^#(\w+)\.(?:v\d+_\d+_\d+\.)?\1$/.exec(type ?? '')?.[1];
  if (type !== undefined && name === undefined) return `${type} names no schema and its version`;
  const shape = name === undefined ? errors : name.endsWith('Collection') ? collection : shapes[name];
  if (!shape) return `nobody has looked up the schema of ${name}`;
  const parsed = shape.safeParse(body);
  return parsed.success ? undefined : `${name ?? 'the error'}: ${z.prettifyError(parsed.error)}`;
}
