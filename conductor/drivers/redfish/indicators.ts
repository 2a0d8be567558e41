import { z } from 'zod';
import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import {
  type Indicator,
  type IndicatorComponent,
  type IndicatorInterface,
  type IndicatorState,
  indicatorComponents,
} from '#conductor/drivers/interfaces.ts';
import { attempted } from '#conductor/drivers/redfish/errors.ts';
import { finishTask, patchResource, type Resource, readResource } from '#conductor/drivers/redfish/resource.ts';
import { Collection, lenient, Reference } from '#conductor/drivers/redfish/schemas.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/system.ts';
import { AppError } from '#shared/errors/app-error.ts';

const timeoutMs = 120_000;
/** Each is a request of its own. */
const mostDrives = 200;

const Storage = z.looseObject({ Drives: lenient(z.array(Reference)) });
const Lamp = z.looseObject({
  Id: lenient(z.string()),
  LocationIndicatorActive: lenient(z.boolean()),
  IndicatorLED: lenient(z.string()),
});
type Lamp = Resource<z.infer<typeof Lamp>>;

const words: Readonly<Record<string, IndicatorState>> = { Lit: 'ON', Off: 'OFF', Blinking: 'BLINKING' };

/** The lamps of the system, its chassis and its drives: `LocationIndicatorActive`, or the older `IndicatorLED`. */
export function redfishIndicators(system: RedfishSystem): IndicatorInterface {
  const { client, clock } = system;
  /** By name. */
  const lampsOf = async (component: IndicatorComponent, signal: AbortSignal): Promise<ReadonlyMap<string, Lamp>> => {
    const found = new Map<string, Lamp>();
    const places = await placesOf(system, component, signal);
    for (const place of places) {
      const lamp = await readResource(client, place, Lamp, signal);
      if (!isBoolean(lamp) && !lamp.data.IndicatorLED) continue;
      const id = lamp.data.Id ?? place.split('/').at(-1) ?? place;
      const name = component !== 'drive' && places.length === 1 ? 'led' : id;
      // controllers may number their drives alike
      found.set(found.has(name) ? `${place.split('/').at(-3)}:${id}` : name, lamp);
    }
    return found;
  };
  const find = async (indicator: string, signal: AbortSignal): Promise<Lamp> => {
    const [name = '', component] = indicator.split(/@(?=[^@]*$)/);
    const known = indicatorComponents.find((each) => each === component);
    const lamp = known && (await lampsOf(known, signal)).get(name);
    if (lamp) return lamp;
    throw new AppError('not_found', `the BMC at ${client.origin} has no indicator ${indicator}`);
  };
  return {
    list: async (options) => {
      const { signal } = callDeadline(options, timeoutMs);
      const all: Indicator[] = [];
      for (const component of options?.component ? [options.component] : indicatorComponents) {
        for (const [name, lamp] of await lampsOf(component, signal)) {
          all.push({ component, name, states: statesOf(lamp) });
        }
      }
      return all;
    },
    read: async (indicator, options) => {
      const { data } = await find(indicator, callDeadline(options, timeoutMs).signal);
      if (typeof data.LocationIndicatorActive === 'boolean') return data.LocationIndicatorActive ? 'ON' : 'OFF';
      return words[data.IndicatorLED ?? ''] ?? 'UNKNOWN';
    },
    set: async (indicator, state, options) => {
      const { signal } = callDeadline(options, timeoutMs);
      const lamp = await find(indicator, signal);
      const what = `switch the indicator ${indicator} ${state} at ${client.origin}`;
      if (!statesOf(lamp).includes(state)) {
        throw new AppError('invalid_argument', `${what}: it may be ${statesOf(lamp).join(', ')}`);
      }
      const word = Object.keys(words).find((each) => words[each] === state);
      const body = isBoolean(lamp) ? { LocationIndicatorActive: state === 'ON' } : { IndicatorLED: word };
      await attempted(what, async () => {
        const answer = await patchResource(client, lamp, body, signal);
        await finishTask(client, answer, what, { clock, signal });
      });
    },
  };
}

async function placesOf(
  system: RedfishSystem,
  component: IndicatorComponent,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { path, data } = await system.read(signal);
  if (component === 'system') return [path];
  if (component === 'chassis') return (data.Links?.Chassis ?? []).map((chassis) => chassis['@odata.id']);
  if (!data.Storage) return [];
  const { Members } = (await readResource(system.client, data.Storage['@odata.id'], Collection, signal)).data;
  const drives: string[] = [];
  for (const member of Members) {
    const { Drives } = (await readResource(system.client, member['@odata.id'], Storage, signal)).data;
    drives.push(...(Drives ?? []).map((drive) => drive['@odata.id']));
  }
  return drives.slice(0, mostDrives);
}

function isBoolean({ data }: Lamp): boolean {
  return typeof data.LocationIndicatorActive === 'boolean';
}

function statesOf(lamp: Lamp): readonly IndicatorState[] {
  return isBoolean(lamp) ? ['OFF', 'ON'] : ['BLINKING', 'OFF', 'ON'];
}
