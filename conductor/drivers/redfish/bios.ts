import { z } from 'zod';
import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { BiosInterface, BiosProgress } from '#conductor/drivers/interfaces.ts';
import type { RedfishClient } from '#conductor/drivers/redfish/client.ts';
import { readMemberPaths } from '#conductor/drivers/redfish/collection.ts';
import { attempted } from '#conductor/drivers/redfish/errors.ts';
import { patchResource, type Resource, readResource } from '#conductor/drivers/redfish/resource.ts';
import { lenient, Message, Reference } from '#conductor/drivers/redfish/schemas.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/system.ts';
import { peekTask } from '#conductor/drivers/redfish/task.ts';
import { type BiosSetting, bareSetting, type WantedBiosSetting, withoutPassword } from '#shared/bios/bios-setting.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** What is read of DMTF's Bios, Settings and AttributeRegistry resources; as tolerant as `schemas.ts`. */

const Settings = z.looseObject({
  SettingsObject: lenient(Reference),
  SupportedApplyTimes: lenient(z.array(z.string())),
  Messages: lenient(z.array(Message)),
});

const Bios = z.looseObject({
  Attributes: lenient(z.record(z.string(), z.unknown())),
  AttributeRegistry: lenient(z.string()),
  ResetBiosToDefaultsPending: lenient(z.boolean()),
  '@Redfish.Settings': lenient(Settings),
  Actions: lenient(z.looseObject({ '#Bios.ResetBios': lenient(z.looseObject({ target: lenient(z.string()) })) })),
});
type Bios = z.infer<typeof Bios>;

const RegistryFile = z.looseObject({
  Id: lenient(z.string()),
  Registry: lenient(z.string()),
  Location: lenient(z.array(z.looseObject({ Language: lenient(z.string()), Uri: lenient(z.string()) }))),
});

const RegistryAttribute = z.looseObject({
  AttributeName: z.string(),
  Type: lenient(z.string()),
  Value: lenient(z.array(z.looseObject({ ValueName: lenient(z.string()) }))),
  LowerBound: lenient(z.number()),
  UpperBound: lenient(z.number()),
  MinLength: lenient(z.number()),
  MaxLength: lenient(z.number()),
  ReadOnly: lenient(z.boolean()),
  ResetRequired: lenient(z.boolean()),
  IsSystemUniqueProperty: lenient(z.boolean()),
});
type RegistryAttribute = z.infer<typeof RegistryAttribute>;

const AttributeRegistry = z.looseObject({
  Id: lenient(z.string()),
  // one bad entry must not cost the description of the others
  RegistryEntries: lenient(z.looseObject({ Attributes: lenient(z.array(lenient(RegistryAttribute))) })),
});
type AttributeRegistry = z.infer<typeof AttributeRegistry>;

const ServiceRegistries = z.looseObject({ Registries: lenient(Reference) });

/**
 * The descriptions of attributes by name, from the registry that a Bios resource names. Empty where the BMC has none:
 * it is advice, and many BMCs name one that they do not serve.
 */
async function readAttributeRegistry(
  client: RedfishClient,
  registry: string | null | undefined,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, RegistryAttribute>> {
  if (!registry) return new Map();
  try {
    const found = await findRegistry(client, registry, signal);
    const attributes = found?.RegistryEntries?.Attributes ?? [];
    return new Map(attributes.flatMap((each) => (each ? [[each.AttributeName, each]] : [])));
  } catch (error) {
    if (error instanceof AppError && error.code === 'bmc_error') return new Map();
    throw error;
  }
}

/**
 * `registry` is the Id of the registry's document (DMTF Bios, `AttributeRegistry`). Most BMCs call the file that points
 * to it the same; Dell has another name and another version there, so that only the document shows it.
 */
async function findRegistry(
  client: RedfishClient,
  registry: string,
  signal: AbortSignal,
): Promise<AttributeRegistry | undefined> {
  const root = await readResource(client, '/redfish/v1/', ServiceRegistries, signal);
  const path = root.data.Registries?.['@odata.id'] ?? '/redfish/v1/Registries';
  const members = await readMemberPaths(client, path, signal);
  const family = /^[A-Za-z]*/.exec(registry)?.[0] ?? registry;
  // the member is usually called like the registry: that one is looked at first, for each look is a request
  const likely = members.filter((member) => member.split('/').at(-1)?.startsWith(family));
  for (const member of [...likely, ...members.filter((each) => !likely.includes(each))]) {
    const file = (await readResource(client, member, RegistryFile, signal)).data;
    const names = [file.Registry ?? '', file.Id ?? ''];
    if (!names.some((name) => name.startsWith(family))) continue;
    const places = file.Location ?? [];
    const uri = (places.find(({ Language }) => Language?.startsWith('en')) ?? places[0])?.Uri;
    if (!uri) continue;
    const document = (await readResource(client, uri, AttributeRegistry, signal)).data;
    if ([...names, document.Id ?? ''].some((name) => plainVersion(name) === plainVersion(registry))) return document;
  }
  return undefined;
}

/** Versions are written `v1_0_0` and `1.0.0`, by Supermicro in two places of one BMC. */
function plainVersion(name: string): string {
  return name.replace(/\.v?(\d+)[._](\d+)[._](\d+)$/, '.$1.$2.$3');
}

const readTimeoutMs = 120_000;
const writeTimeoutMs = 120_000;

/** BIOS settings by the system's `Bios` resource and its Settings object (DMTF Bios and Settings schemas, DSP0268). */
export function redfishBios(system: RedfishSystem): BiosInterface {
  const { client } = system;
  return {
    getSettings: async (options) => {
      const { signal } = callDeadline(options, readTimeoutMs);
      const { data } = await readBios(system, signal);
      const described = await readAttributeRegistry(client, data.AttributeRegistry, signal);
      return Object.entries(data.Attributes ?? {}).map(([name, value]) => settingOf(name, value, described.get(name)));
    },
    getProgress: async (options) => {
      const { signal } = callDeadline(options, readTimeoutMs);
      const bios = await readBios(system, signal);
      const pending = await readSettingsObject(system, bios, signal);
      return progressOf(bios.data, pending === bios ? undefined : pending.data);
    },
    applySettings: async (settings, options) => {
      const { signal } = callDeadline(options, writeTimeoutMs);
      const what = `set BIOS settings ${settings.map(({ name }) => name).join(', ')} at ${client.origin}`;
      const bios = await readBios(system, signal);
      const place = await readSettingsObject(system, bios, signal);
      // Dell takes nothing more, not even the same, while something waits
      const waiting = new Map(
        place === bios ? [] : progressOf(bios.data, place.data).pending.map(({ name, value }) => [name, value]),
      );
      const missing = settings.filter(({ name, value }) => waiting.get(name) !== value);
      if (missing.length === 0) return;
      await attempted(what, async () => {
        const answer = await patchResource(client, place, patchBody(bios.data, missing), signal);
        // a task that ends with the next reset only is not waited for; one that has failed already is reported
        await peekTask(client, answer, what, signal);
      });
    },
    factoryReset: async (options) => {
      const { signal } = callDeadline(options, writeTimeoutMs);
      const what = `reset the BIOS settings at ${client.origin}`;
      const bios = await readBios(system, signal);
      const path = bios.data.Actions?.['#Bios.ResetBios']?.target;
      if (!path) throw new AppError('not_supported', `${what}: its Bios resource has no ResetBios action`);
      await attempted(what, async () => {
        const answer = await client.request({ method: 'POST', path, body: {}, signal });
        await peekTask(client, answer, what, signal);
      });
    },
  };
}

async function readBios(system: RedfishSystem, signal: AbortSignal): Promise<Resource<Bios>> {
  const { data, path } = await system.read(signal);
  const place = data.Bios?.['@odata.id'];
  if (place === undefined) {
    throw new AppError('not_supported', `the system ${path} at ${system.client.origin} has no Bios resource`);
  }
  return readResource(system.client, place, Bios, signal);
}

/** Where values are asked for: the Settings object, or the resource itself where a BMC has none. */
async function readSettingsObject(
  system: RedfishSystem,
  bios: Resource<Bios>,
  signal: AbortSignal,
): Promise<Resource<Bios>> {
  const path = bios.data['@Redfish.Settings']?.SettingsObject?.['@odata.id'];
  return path === undefined || path === bios.path ? bios : readResource(system.client, path, Bios, signal);
}

/** Settings objects list what waits, or every attribute: what waits is what differs. */
function progressOf(current: Bios, settings: Bios | undefined): BiosProgress {
  const now = current.Attributes ?? {};
  const asked = Object.entries(settings?.Attributes ?? {});
  const pending = asked.filter(([name, value]) => value !== null && value !== now[name]);
  return {
    values: new Map(Object.entries(now).map(([name, value]) => [name, textOf(value)])),
    pending: pending.map(([name, value]) => ({ name, value: textOf(value) ?? '' })),
    defaultsPending: current.ResetBiosToDefaultsPending ?? false,
    failures: (current['@Redfish.Settings']?.Messages ?? [])
      .filter((message) => ['Warning', 'Critical'].includes(message.MessageSeverity ?? message.Severity ?? 'OK'))
      .map((message) => message.Message || message.MessageId || 'no message'),
  };
}

function patchBody(bios: Bios, settings: readonly WantedBiosSetting[]): unknown {
  const now = bios.Attributes ?? {};
  const times = bios['@Redfish.Settings']?.SupportedApplyTimes ?? [];
  return {
    Attributes: Object.fromEntries(settings.map(({ name, value }) => [name, nativeValue(value, now[name])])),
    ...(times.includes('OnReset')
      ? {
          '@Redfish.SettingsApplyTime': {
            '@odata.type': '#Settings.v1_0_0.PreferredApplyTime',
            ApplyTime: 'OnReset',
          },
        }
      : {}),
  };
}

/** In the type that the attribute has now: BMCs refuse "5" for 5. */
function nativeValue(value: string, now: unknown): string | number | boolean {
  if (typeof now === 'number' && value.trim() !== '' && Number.isFinite(Number(value))) return Number(value);
  if (typeof now === 'boolean' && /^(true|false)$/i.test(value)) return value.toLowerCase() === 'true';
  return value;
}

function settingOf(name: string, value: unknown, described: RegistryAttribute | undefined): BiosSetting {
  const bare = bareSetting(name, textOf(value));
  if (!described) return withoutPassword(bare);
  return withoutPassword({
    ...bare,
    attribute_type: described.Type ?? null,
    allowable_values: described.Value?.flatMap((each) => each.ValueName ?? []) ?? null,
    lower_bound: described.LowerBound ?? null,
    upper_bound: described.UpperBound ?? null,
    min_length: described.MinLength ?? null,
    max_length: described.MaxLength ?? null,
    read_only: described.ReadOnly ?? null,
    reset_required: described.ResetRequired ?? null,
    unique: described.IsSystemUniqueProperty ?? null,
  });
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
