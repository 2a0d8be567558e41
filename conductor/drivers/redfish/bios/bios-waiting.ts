import { stoppedError } from '#conductor/drivers/call-deadline.ts';
import { Bios } from '#conductor/drivers/redfish/bios/bios-resource.ts';
import { readResource } from '#conductor/drivers/redfish/client/resource.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Milliseconds before a BMC is asked again what waits, doubled each time; after the last it has dropped what it took. */
const firstLookMs = 250;
const lastLookMs = 1000;

type Asked = Readonly<Record<string, string | number | boolean>>;

/**
 * Looks whether what a settings place has taken waits there: some BMCs answer 200 and drop it, which the machine's reset
 * would not show for minutes. A place that lists nothing, or can't be read, tells nothing.
 * @throws AppError `bmc_error` naming what was asked for and what is to come
 */
export async function requireWaiting(
  { client, clock }: RedfishSystem,
  about: {
    readonly bios: string;
    readonly place: string;
    readonly asked: Asked;
    readonly what: string;
  },
  signal: AbortSignal,
): Promise<void> {
  const { bios, place, asked, what } = about;
  const read = async (path: string): Promise<Attributes | undefined> =>
    (await readResource(client, path, Bios, signal)).data.Attributes ?? undefined;
  for (let waitMs = firstLookMs; ; waitMs *= 2) {
    let dropped: readonly string[] = [];
    try {
      dropped = listDropped(asked, await read(bios), await read(place));
    } catch (error) {
      // it is taken, and of what can't be read nothing is known
      if (signal.aborted) throw error;
    }
    if (dropped.length === 0) return;
    if (waitMs > lastLookMs) {
      throw new AppError('bmc_error', `the BMC has taken it, and does not show it: ${dropped.join('; ')}`);
    }
    await clock.sleep(waitMs, signal).catch(() => {
      throw stoppedError(signal, what);
    });
  }
}

type Attributes = Readonly<Record<string, unknown>>;

/**
 * Describes the settings that neither hold nor wait. It is silent about those that are not shown now, such as
 * passwords. Pure.
 */
export function listDropped(
  asked: Asked,
  now: Attributes | undefined,
  waiting: Attributes | undefined,
): readonly string[] {
  if (now === undefined || waiting === undefined || Object.keys(waiting).length === 0) return [];
  return Object.entries(asked).flatMap(([name, value]) => {
    const before = now[name];
    if (isHidden(before) || isSame(before, value)) return [];
    if (!Object.hasOwn(waiting, name)) return [`${name}: asked for ${value}, nothing is to come`];
    const coming = waiting[name];
    return isHidden(coming) || isSame(coming, value)
      ? []
      : [`${name}: asked for ${value}, to come is ${shown(coming)}`];
  });
}

function isHidden(value: unknown): boolean {
  return value === null || value === undefined || (typeof value === 'string' && /^\**$/.test(value));
}

function isSame(one: unknown, other: unknown): boolean {
  return shown(one).toLowerCase() === shown(other).toLowerCase() || (isNumber(one) && Number(one) === Number(other));
}

function isNumber(value: unknown): boolean {
  return shown(value).trim() !== '' && Number.isFinite(Number(value));
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
