import { z } from 'zod';
import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import {
  type Indicator,
  type IndicatorComponent,
  type IndicatorInterface,
  type IndicatorState,
  indicatorComponents,
} from '#conductor/drivers/interfaces.ts';
import type { RedfishClient } from '#conductor/drivers/redfish/client/client.ts';
import { readEach, readShownPaths } from '#conductor/drivers/redfish/client/collection.ts';
import { underTitle } from '#conductor/drivers/redfish/client/errors.ts';
import { finishShown } from '#conductor/drivers/redfish/client/finish-shown.ts';
import { patchResource, type Resource, readResource } from '#conductor/drivers/redfish/client/resource.ts';
import { orUndefined, Reference } from '#conductor/drivers/redfish/client/schemas.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { limitAtOnce, type RunInTurn } from '#shared/in-parallel.ts';

const timeoutMs = 120_000;
/** Each is a request of its own. */
const mostDrives = 200;
const mostWaiting = 10;

const Storage = z.looseObject({ Drives: orUndefined(z.array(Reference)) });
const Lamp = z.looseObject({
  Id: orUndefined(z.string()),
  LocationIndicatorActive: orUndefined(z.boolean()),
  IndicatorLED: orUndefined(z.string()),
});
type Lamp = Resource<z.infer<typeof Lamp>>;

const words: Readonly<Record<string, IndicatorState>> = { Lit: 'ON', Off: 'OFF', Blinking: 'BLINKING' };

/** The lamps of the system, its chassis and its drives: `LocationIndicatorActive`, or the older `IndicatorLED`. */
export function redfishIndicators(system: RedfishSystem): IndicatorInterface {
  const { client, clock } = system;
  const lampsOf = async (component: IndicatorComponent, signal: AbortSignal): Promise<readonly Indicator[]> => {
    const found = new Map<string, Indicator>();
    const places = await placesOf(system, component, signal);
    for (const lamp of (await readEach(client, places, Lamp, signal)).read) {
      const place = lamp.path;
      if (!isBoolean(lamp) && !lamp.data.IndicatorLED) continue;
      const id = lamp.data.Id ?? place.split('/').at(-1) ?? place;
      const plain = component !== 'drive' && places.length === 1 ? 'led' : id;
      // controllers may number their drives alike
      const name = found.has(plain) ? `${place.split('/').at(-3)}:${id}` : plain;
      found.set(name, { component, name, states: statesOf(lamp), state: stateOf(lamp), place });
    }
    return [...found.values()];
  };
  return {
    list: (options) => {
      const { signal } = callDeadline(options, timeoutMs);
      return listingTurn(client)(async () => {
        const all: Indicator[] = [];
        for (const component of options?.component ? [options.component] : indicatorComponents) {
          all.push(...(await lampsOf(component, signal)));
        }
        return all;
      }, signal);
    },
    set: async ({ name, component, place }, state, options) => {
      const { signal } = callDeadline(options, timeoutMs);
      const lamp = await readResource(client, place, Lamp, signal);
      const what = `switch the indicator ${name}@${component} ${state} at ${client.origin}`;
      if (!statesOf(lamp).includes(state)) {
        throw new AppError('invalid_argument', `${what}: it may be ${statesOf(lamp).join(', ')}`);
      }
      const word = Object.keys(words).find((each) => words[each] === state);
      const body = isBoolean(lamp) ? { LocationIndicatorActive: state === 'ON' } : { IndicatorLED: word };
      await underTitle(what, async () => {
        const answer = await patchResource(client, lamp, body, signal);
        const differs = async (): Promise<string | undefined> => {
          const shown = stateOf(await readResource(client, place, Lamp, signal));
          return shown === state ? undefined : `it is ${shown}`;
        };
        await finishShown(client, answer, what, { clock, signal, isLookedAt: true, differs });
      });
    },
  };
}

const turns = new WeakMap<RedfishClient, RunInTurn>();

/** A listing is hundreds of requests: one at a time leaves the other connection of a BMC to power control. */
function listingTurn(client: RedfishClient): RunInTurn {
  const refusal = (): AppError =>
    new AppError('unavailable', `${mostWaiting} others wait for the indicators of the BMC at ${client.origin}`);
  const turn = turns.get(client) ?? limitAtOnce({ most: 1, waiting: { most: mostWaiting, refusal } });
  turns.set(client, turn);
  return turn;
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
  const drives: string[] = [];
  const members = (await readShownPaths(system.client, data.Storage['@odata.id'], signal)).read;
  for (const {
    data: { Drives },
  } of (await readEach(system.client, members, Storage, signal)).read) {
    drives.push(...(Drives ?? []).map((drive) => drive['@odata.id']));
  }
  return drives.slice(0, mostDrives);
}

function isBoolean({ data }: Lamp): boolean {
  return typeof data.LocationIndicatorActive === 'boolean';
}

function stateOf({ data }: Lamp): IndicatorState {
  if (typeof data.LocationIndicatorActive === 'boolean') return data.LocationIndicatorActive ? 'ON' : 'OFF';
  return words[data.IndicatorLED ?? ''] ?? 'UNKNOWN';
}

function statesOf(lamp: Lamp): readonly IndicatorState[] {
  return isBoolean(lamp) ? ['OFF', 'ON'] : ['BLINKING', 'OFF', 'ON'];
}
