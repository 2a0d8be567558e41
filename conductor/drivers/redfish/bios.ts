import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { BiosInterface, BiosProgress } from '#conductor/drivers/interfaces.ts';
import { readAttributeRegistry } from '#conductor/drivers/redfish/bios-registry.ts';
import { Bios, type RegistryAttribute } from '#conductor/drivers/redfish/bios-schemas.ts';
import { attempted } from '#conductor/drivers/redfish/errors.ts';
import { patchResource, type Resource, readResource } from '#conductor/drivers/redfish/resource.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/system.ts';
import { peekTask } from '#conductor/drivers/redfish/task.ts';
import { type BiosSetting, bareSetting, type WantedBiosSetting, withoutPassword } from '#shared/bios/bios-setting.ts';
import { AppError } from '#shared/errors/app-error.ts';

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
        // a task that ends with the next reset only is not waited for; one that has failed already is told
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
