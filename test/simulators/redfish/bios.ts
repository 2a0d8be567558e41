import { type Answer, errorAnswer } from '#test/simulators/redfish/answers.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';

/** BIOS settings of the simulated machine: Bios, its Settings object, ResetBios, the attribute registry (DSP0268). */

export const biosPath = '/redfish/v1/Systems/1/Bios';
export const biosSettingsPath = `${biosPath}/Settings`;
export const resetBiosPath = `${biosPath}/Actions/Bios.ResetBios`;
const registryId = 'BiosAttributeRegistry.1.0.0';

type Value = string | number | boolean | null;

interface Attribute {
  readonly name: string;
  readonly type: 'Enumeration' | 'Integer' | 'Boolean' | 'String' | 'Password';
  readonly default: Value;
  readonly legal?: readonly string[];
  readonly lower?: number;
  readonly upper?: number;
  readonly longest?: number;
  readonly readOnly?: boolean;
}

const attributes: readonly Attribute[] = [
  { name: 'BootMode', type: 'Enumeration', default: 'Uefi', legal: ['Uefi', 'Bios'] },
  {
    name: 'SysProfile',
    type: 'Enumeration',
    default: 'PerfPerWatt',
    legal: ['PerfPerWatt', 'Performance', 'Custom'],
  },
  { name: 'NumCores', type: 'Integer', default: 8, lower: 1, upper: 8 },
  { name: 'Virtualization', type: 'Boolean', default: true },
  { name: 'AssetTag', type: 'String', default: '', longest: 63 },
  { name: 'SetupPassword', type: 'Password', default: null, longest: 32 },
  { name: 'BiosVersion', type: 'String', default: '1.0', readOnly: true },
];

export interface SimulatedBios {
  values: Record<string, Value>;
  pending: Record<string, Value>;
  defaultsPending: boolean;
  /** Faults from when settings were last applied. */
  messages: string[];
}

export function createSimulatedBios(): SimulatedBios {
  return { values: defaultValues(), pending: {}, defaultsPending: false, messages: [] };
}

function defaultValues(): Record<string, Value> {
  return Object.fromEntries(attributes.map((each) => [each.name, each.default]));
}

/** Does what the firmware does when the machine starts. */
export function bootBios(bios: SimulatedBios, quirks: Quirks): void {
  if (bios.defaultsPending) bios.values = defaultValues();
  const asked = Object.entries(bios.pending);
  if (asked.length > 0) bios.messages = [];
  const before = bios.values;
  for (const [name, value] of asked) {
    if (quirks.biosKeeps.includes(name)) continue;
    const failure = quirks.biosFailsAtReset[name];
    if (failure === undefined) bios.values = { ...bios.values, [name]: value };
    else bios.messages.push(failure);
  }
  if (quirks.biosTakesAllOrNone && bios.messages.length > 0) bios.values = before;
  bios.pending = {};
  bios.defaultsPending = false;
}

/** `PATCH …/Bios/Settings`: all of it, or nothing and why. */
export function patchBios(bios: SimulatedBios, body: Record<string, unknown>, quirks: Quirks): Answer | undefined {
  const asked = quirks.flatBios ? body : body['Attributes'];
  const unknown = quirks.flatBios
    ? undefined
    : Object.keys(body).find((key) => key !== 'Attributes' && key !== '@Redfish.SettingsApplyTime');
  if (unknown !== undefined) return refused(unknown, 'PropertyUnknown', 'is not in the list of valid properties');
  if (typeof asked !== 'object' || asked === null) return errorAnswer(400, 'PropertyMissing');
  if (Object.keys(asked).length > quirks.biosRefusesMoreThan) return errorAnswer(400, 'PropertyValueError');
  if (quirks.oneBiosJob && Object.keys(bios.pending).length > 0) {
    const text = 'Pending configuration values are already committed, unable to perform another set operation.';
    return errorAnswer(400, 'PropertyValueError', { id: 'IDRAC.2.8.SYS011', text });
  }
  for (const [name, value] of Object.entries(asked as Record<string, unknown>)) {
    const fault =
      quirks.biosRefuses[name] ??
      (quirks.biosTakesUnlisted.includes(name) ? undefined : faultOf(name, value)) ??
      lockOf(name, { ...bios.values, ...asked }, quirks);
    if (fault !== undefined) return errorAnswer(400, 'PropertyValueError', { text: fault });
  }
  const all = Object.entries(asked as Record<string, Value>);
  const values = Object.fromEntries(all.filter(([name]) => !quirks.biosDrops.includes(name)));
  if (quirks.noBiosSettings) bios.values = { ...bios.values, ...values };
  else bios.pending = { ...bios.pending, ...values };
  return undefined;
}

function lockOf(name: string, values: Readonly<Record<string, unknown>>, { biosFreedBy }: Quirks): string | undefined {
  const [by = '', value] = biosFreedBy[name] ?? [];
  if (value === undefined || values[by] === value) return undefined;
  return `The property ${name} is read only and depends on other attributes.`;
}

function refused(name: string, message: string, why: string): Answer {
  return errorAnswer(400, message, { text: `The property ${name} ${why}.` });
}

function faultOf(name: string, value: unknown): string | undefined {
  const attribute = attributes.find((each) => each.name === name);
  const about = `The value ${JSON.stringify(value)} for the attribute ${name}`;
  if (!attribute) return `The property ${name} is not in the list of valid properties for the resource.`;
  if (attribute.readOnly) return `The property ${name} is a read only property and cannot be assigned a value.`;
  switch (attribute.type) {
    case 'Enumeration':
      return attribute.legal?.includes(String(value)) ? undefined : `${about} is not in the list of acceptable values.`;
    case 'Integer': {
      if (typeof value !== 'number') return `${about} is of a different type than the property can accept.`;
      const fits = value >= (attribute.lower ?? value) && value <= (attribute.upper ?? value);
      return fits ? undefined : `${about} is out of range.`;
    }
    case 'Boolean':
      return typeof value === 'boolean' ? undefined : `${about} is of a different type than the property can accept.`;
    default:
      return typeof value === 'string' && value.length <= (attribute.longest ?? value.length)
        ? undefined
        : `The value for the attribute ${name} is not acceptable.`;
  }
}

/** The resources, by path; none with the quirk `noBios`. */
export function biosResources(bios: SimulatedBios, quirks: Quirks): Record<string, Record<string, unknown>> {
  if (quirks.noBios) return {};
  if (quirks.noBiosAttributes) {
    const actions = { '#Bios.ResetBios': { target: resetBiosPath } };
    return { [biosPath]: { '@odata.type': '#Bios.v1_1_0.Bios', Id: 'BIOS', Name: 'BIOS', Actions: actions } };
  }
  if (quirks.flatBios) return flatResources(bios);
  return {
    [biosPath]: {
      '@odata.type': '#Bios.v1_2_0.Bios',
      Id: 'BIOS',
      Name: 'BIOS settings',
      ...(quirks.noAttributeRegistry ? {} : { AttributeRegistry: registryId }),
      Attributes:
        quirks.nullAttributes === 'all'
          ? null
          : {
              ...readable(bios.values),
              ...Object.fromEntries(quirks.nullAttributes.map((name) => [name, null])),
              ...(quirks.passwordHashes ? passwordHashes : {}),
            },
      ResetBiosToDefaultsPending: bios.defaultsPending,
      ...((quirks.noBiosSettings && !quirks.deadSettingsLinks) || quirks.unlinkedSettings
        ? {}
        : { '@Redfish.Settings': settingsAnnotation(bios) }),
      Actions: { '#Bios.ResetBios': { target: resetBiosPath } },
    },
    ...(quirks.noBiosSettings
      ? {}
      : {
          [biosSettingsPath]: {
            '@odata.type': '#Bios.v1_2_0.Bios',
            Id: 'Settings',
            Name: 'BIOS settings after the next reset',
            Attributes: readable({ ...(quirks.biosListsWaiting ? {} : bios.values), ...bios.pending }),
          },
        }),
    ...(quirks.noAttributeRegistry ? {} : registryResources(quirks)),
  };
}

function flatResources(bios: SimulatedBios): Record<string, Record<string, unknown>> {
  const links = { Settings: { href: biosSettingsPath }, self: { href: biosPath } };
  const own = { AttributeRegistry: 'HpBiosAttributeRegistryP89.1.1.00', Modified: '2015-03-09T17:50:09+00:00', links };
  const ends = bios.messages.map((text) => ({ MessageArgs: [text], MessageID: 'Base.1.0:PropertyValueTypeError' }));
  const result = { Messages: [...ends, { MessageArgs: [], MessageID: 'Base.1.0:Success' }] };
  const named = { Type: 'HpBios.1.2.0', Name: 'BIOS Current Settings', ...own };
  return {
    [biosPath]: { ...named, ...readable(bios.values), SettingsResult: result },
    [biosSettingsPath]: { ...named, ...readable({ ...bios.values, ...bios.pending }) },
  };
}

const passwordHashes = { SHA256SetupPassword: '19D28380D5867281', SHA256SetupPasswordSalt: '5C1F0A77' };

/** Passwords are never shown. */
function readable(values: Readonly<Record<string, Value>>): Record<string, Value> {
  const hidden = new Set(attributes.filter((each) => each.type === 'Password').map((each) => each.name));
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, hidden.has(name) ? null : value]));
}

function settingsAnnotation(bios: SimulatedBios): Record<string, unknown> {
  return {
    '@odata.type': '#Settings.v1_3_1.Settings',
    SettingsObject: { '@odata.id': biosSettingsPath },
    SupportedApplyTimes: ['OnReset'],
    Messages: bios.messages.map((text) => ({
      MessageId: 'Bios.1.0.SettingFailed',
      Message: text,
      Severity: 'Critical',
      MessageSeverity: 'Critical',
    })),
  };
}

export const biosRegistryPath = `/redfish/v1/Registries/${registryId}`;

function registryResources(quirks: Quirks): Record<string, Record<string, unknown>> {
  return {
    [biosRegistryPath]: {
      '@odata.type': '#MessageRegistryFile.v1_1_3.MessageRegistryFile',
      Id: quirks.registryFileNames?.id ?? registryId,
      Name: 'BIOS attribute registry file',
      Registry: quirks.registryFileNames?.registry ?? registryId,
      Languages: ['en'],
      Location: [{ Language: 'en', Uri: `${biosRegistryPath}.json` }],
    },
    [`${biosRegistryPath}.json`]: {
      '@odata.type': '#AttributeRegistry.v1_3_6.AttributeRegistry',
      Id: registryId,
      Name: 'BIOS attribute registry',
      Language: 'en',
      RegistryVersion: '1.0.0',
      OwningEntity: 'Baton',
      SupportedSystems: [{ ProductName: 'Simulated machine', SystemId: '1', FirmwareVersion: '1.0.0' }],
      RegistryEntries: {
        Attributes: [...attributes, ...(quirks.passwordHashes ? hashAttributes : [])].map((each) =>
          registryEntry(each, (each.readOnly ?? false) || each.name in quirks.biosFreedBy),
        ),
        Dependencies: [],
        Menus: [],
      },
    },
  };
}

const hashAttributes = Object.keys(passwordHashes).map(
  (name): Attribute => ({ name, type: 'String', default: '', readOnly: false }),
);

function registryEntry(attribute: Attribute, readOnly: boolean): Record<string, unknown> {
  return {
    AttributeName: attribute.name,
    Type: attribute.type,
    DisplayName: attribute.name,
    ReadOnly: readOnly,
    Immutable: attribute.readOnly ?? false,
    ResetRequired: true,
    IsSystemUniqueProperty: attribute.name === 'AssetTag',
    DefaultValue: attribute.default,
    ...(attribute.legal ? { Value: attribute.legal.map((name) => ({ ValueName: name, ValueDisplayName: name })) } : {}),
    ...(attribute.lower === undefined ? {} : { LowerBound: attribute.lower }),
    ...(attribute.upper === undefined ? {} : { UpperBound: attribute.upper }),
    ...(attribute.longest === undefined ? {} : { MinLength: 0, MaxLength: attribute.longest }),
  };
}
