import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { BiosInterface, BiosProgress } from '#conductor/drivers/interfaces.ts';
import { type RegistryAttribute, readAttributeRegistry } from '#conductor/drivers/redfish/bios/bios-registry.ts';
import { Bios, biosPlace, failuresOf } from '#conductor/drivers/redfish/bios/bios-resource.ts';
import { type AskedTask, findOpenTask, taskOf } from '#conductor/drivers/redfish/bios/bios-task.ts';
import { requireWaiting } from '#conductor/drivers/redfish/bios/bios-waiting.ts';
import { type LinkedSettings, readSettings, settingsPlaces } from '#conductor/drivers/redfish/bios/settings-places.ts';
import type { RedfishClient } from '#conductor/drivers/redfish/client/client.ts';
import { httpStatusOf, underTitle } from '#conductor/drivers/redfish/client/errors.ts';
import { patchResource, type Resource, readResource } from '#conductor/drivers/redfish/client/resource.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import { readTask } from '#conductor/drivers/redfish/client/task.ts';
import { lookAtTask } from '#conductor/drivers/redfish/client/task-states.ts';
import type { RedfishAnswer } from '#conductor/drivers/redfish/client/transport.ts';
import type { SettingsPlaces } from '#conductor/drivers/redfish/client/write-until-shown.ts';
import { type BiosSetting, bareSetting, type WantedBiosSetting, withoutPassword } from '#shared/bios/bios-setting.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

const readTimeoutMs = 120_000;
/** A registry has megabytes, and may be one of many. */
const describeTimeoutMs = 5 * 60_000;
const writeTimeoutMs = 120_000;

/** BIOS settings by the system's `Bios` resource and its Settings object (DMTF Bios and Settings schemas, DSP0268). */
export function redfishBios(system: RedfishSystem): BiosInterface {
  const { client } = system;
  return {
    getSettings: async (options) => {
      const { signal } = callDeadline(options, describeTimeoutMs);
      const { data } = await readBios(system, signal);
      const described = await readAttributeRegistry(client, data.AttributeRegistry, signal);
      return Object.entries(data.Attributes ?? {}).map(([name, value]) => settingOf(name, value, described.get(name)));
    },
    getProgress: async (options) => {
      const { signal } = callDeadline(options, readTimeoutMs);
      const { bios, linked } = await readBiosAndSettings(system, signal);
      return progressOf(bios.data, linked?.read?.data);
    },
    applySettings: async (settings, options) => {
      const { signal } = callDeadline(options, writeTimeoutMs);
      const what = `set BIOS settings ${settings.map(({ name }) => name).join(', ')} at ${client.origin}`;
      const { bios, linked } = await readBiosAndSettings(system, signal);
      // Dell takes nothing more, not even the same, while something waits
      const { pending } = progressOf(bios.data, linked?.read?.data);
      const waiting = new Map(pending.map(({ name, value }) => [name, value]));
      const missing = settings.filter(({ name, value }) => waiting.get(name) !== value);
      const found = () => findOpenTask(client, [bios.path, ...(linked ? [linked.path] : [])], signal);
      if (missing.length === 0) return found();
      return underTitle(what, async () => {
        const types = await readUnclearTypes(client, bios.data, missing, signal);
        const { attributes, body } = patchBody(bios.data, missing, types);
        let asked: AskedTask | undefined;
        const patch = async (): Promise<void> => {
          const places = settingsPlaces(client, Bios, { resource: bios, linked, isLinkedFirst: true, blindly: true });
          const { answer, path } = await patchFirstPlace(client, places, body, signal);
          // a task that ends with the next reset only is not waited for; one that has failed already is reported
          asked = await taskOf(system, answer, what, signal);
          const isSeen = asked.isOver && path !== bios.path;
          if (isSeen) await requireWaiting(system, { bios: bios.path, place: path, asked: attributes, what }, signal);
        };
        await untilTaken(system, patch, (now) => holds(now, attributes), signal);
        return asked?.task ?? (asked?.isOver ? undefined : found());
      });
    },
    factoryReset: async (options) => {
      const { signal } = callDeadline(options, writeTimeoutMs);
      const what = `reset the BIOS settings at ${client.origin}`;
      const bios = await readBios(system, signal);
      const path = bios.data.Actions?.['#Bios.ResetBios']?.target;
      if (!path) throw new AppError('not_supported', `${what}: its Bios resource has no ResetBios action`);
      let asked: AskedTask | undefined;
      const post = async (): Promise<void> => {
        const answer = await client.request({ method: 'POST', path, body: {}, signal });
        asked = await taskOf(system, answer, what, signal);
      };
      const isPending = ({ defaultsPending }: BiosProgress): boolean => defaultsPending;
      return underTitle(what, async () => {
        // Dell takes no second request
        const isAskedFor = isPending(progressOf(bios.data, undefined));
        if (!isAskedFor) await untilTaken(system, post, isPending, signal);
        const task = asked?.task ?? (asked?.isOver ? undefined : await findOpenTask(client, [path], signal));
        const isSaid = asked?.isOver || isAskedFor || task !== undefined;
        return { task, isClear: isSaid || (await showsNow(system, isPending, signal)) };
      });
    },
    getTaskProgress: async (task, options) => {
      const { signal } = callDeadline(options, readTimeoutMs);
      const answer = await readTask(client, task, signal);
      return answer === 'lost' ? { state: 'lost', percent: undefined } : lookAtTask(answer);
    },
  };
}

const tries = 3;
const pauseMs = 3000;

/** Asks again where a web server has failed, unless the BMC shows that it has done it: some refuse what they have taken. */
async function untilTaken(
  system: RedfishSystem,
  ask: () => Promise<void>,
  isTaken: (now: BiosProgress) => boolean,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      const status = httpStatusOf(error) ?? 0;
      const isLost = error instanceof AppError && error.details['sent'] === true;
      if (signal.aborted || !(status > 0 || isLost)) throw error;
      const { bios, linked } = await readBiosAndSettings(system, signal);
      if (isTaken(progressOf(bios.data, linked?.read?.data))) return;
      if ((status < 500 && !isLost) || attempt === tries) throw error;
      await system.clock.sleep(pauseMs, signal).catch(() => Promise.reject(error));
    }
  }
}

/** Asks whether the BMC shows it now; one that does not answer does not. */
async function showsNow(
  system: RedfishSystem,
  isSo: (now: BiosProgress) => boolean,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    return isSo(progressOf((await readBios(system, signal)).data, undefined));
  } catch (error) {
    if (signal.aborted || !['bmc_error', 'unavailable', 'timeout'].includes(errorCode(error))) throw error;
    system.client.log.debug({ err: error, bmc: system.client.origin }, 'the BMC does not show its BIOS now');
    return false;
  }
}

/** Whether the values are shown, or wait for the next reset. */
function holds({ values, pending }: BiosProgress, wanted: Readonly<Record<string, unknown>>): boolean {
  const shown = new Map([...values, ...pending.map(({ name, value }) => [name, value] as const)]);
  return Object.entries(wanted).every(([name, value]) => shown.get(name) === textOf(value));
}

/** @throws AppError `unavailable` for one without the Attributes that it had before: it says nothing of them now */
async function readBios(system: RedfishSystem, signal: AbortSignal): Promise<Resource<Bios>> {
  const { data, path } = await system.read(signal);
  const place = biosPlace(data);
  if (place === undefined) {
    throw new AppError('not_supported', `the system ${path} at ${system.client.origin} has no Bios resource`);
  }
  const bios = await readResource(system.client, place, Bios, signal);
  if (bios.data.Attributes) system.withAttributes.add(bios.path);
  if (bios.data.Attributes === undefined && system.withAttributes.has(bios.path)) {
    const what = `GET ${system.client.origin}${bios.path} has no Attributes now, which it had before`;
    throw new AppError('unavailable', what, { details: { isNoAnswer: true } });
  }
  return bios;
}

/** With the Settings object, where values are asked for, as far as it can be found and read. */
async function readBiosAndSettings(
  system: RedfishSystem,
  signal: AbortSignal,
): Promise<{ readonly bios: Resource<Bios>; readonly linked: LinkedSettings<Bios> | undefined }> {
  const bios = await readBios(system, signal);
  return { bios, linked: await readSettings(system, bios, Bios, signal) };
}

/** @throws AppError with the words of the first refusal, where no place takes it, or of the place that it is */
async function patchFirstPlace(
  client: RedfishClient,
  places: SettingsPlaces<Bios>,
  body: unknown,
  signal: AbortSignal,
): Promise<{ readonly answer: RedfishAnswer; readonly path: string }> {
  let refusal: unknown;
  for (let place = await places.next(signal); place !== undefined; place = await places.next(signal)) {
    try {
      return { answer: await patchResource(client, place, body, signal), path: place.path };
    } catch (error) {
      if (!places.isElsewhere(error)) throw error;
      refusal ??= error;
    }
  }
  throw refusal;
}

/**
 * Reads the registry's types of settings whose present value doesn't tell of which type they are; empty where all do.
 */
async function readUnclearTypes(
  client: RedfishClient,
  bios: Bios,
  settings: readonly WantedBiosSetting[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, RegistryAttribute>> {
  const now = bios.Attributes ?? {};
  const isUnclear = ({ name, value }: WantedBiosSetting): boolean =>
    !['number', 'boolean'].includes(typeof now[name]) && /^([+-]?\d+|true|false)$/i.test(value);
  return settings.some(isUnclear) ? readAttributeRegistry(client, bios.AttributeRegistry, signal) : new Map();
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
    isShown:
      current.Attributes != null ||
      current.ResetBiosToDefaultsPending != null ||
      current.Actions?.['#Bios.ResetBios']?.target !== undefined,
    failures: failuresOf(current['@Redfish.Settings']?.Messages ?? []),
  };
}

function patchBody(
  bios: Bios,
  settings: readonly WantedBiosSetting[],
  types: ReadonlyMap<string, RegistryAttribute>,
): { readonly attributes: Readonly<Record<string, string | number | boolean>>; readonly body: object } {
  const now = bios.Attributes ?? {};
  const times = bios['@Redfish.Settings']?.SupportedApplyTimes ?? [];
  const attributes = Object.fromEntries(
    settings.map(({ name, value }) => [name, nativeValue(value, now[name], types.get(name)?.Type)]),
  );
  if (bios.isFlat) return { attributes, body: attributes };
  const body = {
    Attributes: attributes,
    ...(times.includes('OnReset')
      ? {
          '@Redfish.SettingsApplyTime': {
            '@odata.type': '#Settings.v1_0_0.PreferredApplyTime',
            ApplyTime: 'OnReset',
          },
        }
      : {}),
  };
  return { attributes, body };
}

/** In the type that the attribute has now, or by the registry where that has none: BMCs refuse "5" for 5. */
function nativeValue(value: string, now: unknown, type: string | null | undefined): string | number | boolean {
  const isNumber = typeof now === 'number' || (typeof now !== 'boolean' && type === 'Integer');
  if (isNumber && value.trim() !== '' && Number.isFinite(Number(value))) return Number(value);
  const isBoolean = typeof now === 'boolean' || type === 'Boolean';
  if (isBoolean && /^(true|false)$/i.test(value)) return value.toLowerCase() === 'true';
  return value;
}

function settingOf(name: string, value: unknown, described: RegistryAttribute | undefined): BiosSetting {
  const bare = bareSetting(name, textOf(value));
  if (!described) return withoutPassword(bare);
  return withoutPassword({
    ...bare,
    attribute_type: described.Type ?? null,
    allowable_values: allowableValues(described),
    lower_bound: described.LowerBound ?? null,
    upper_bound: described.UpperBound ?? null,
    min_length: described.MinLength ?? null,
    max_length: described.MaxLength ?? null,
    read_only: described.ReadOnly ?? null,
    reset_required: described.ResetRequired ?? null,
    unique: described.IsSystemUniqueProperty ?? null,
  });
}

/** Lists the values of an enumeration; `null` = not known, also where one of them can't be read. */
function allowableValues({ Value: values }: RegistryAttribute): string[] | null {
  const names = values?.map((each) => each.ValueName);
  return names?.every((name) => typeof name === 'string') ? names : null;
}

function textOf(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
