import { z } from 'zod';
import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { Indicator, IndicatorInterface, IndicatorState } from '#conductor/drivers/interfaces.ts';
import { attempted } from '#conductor/drivers/redfish/errors.ts';
import { finishTask, patchResource, type Resource, readResource } from '#conductor/drivers/redfish/resource.ts';
import { lenient } from '#conductor/drivers/redfish/schemas.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/system.ts';
import { AppError } from '#shared/errors/app-error.ts';

const timeoutMs = 60_000;

const Lamp = z.looseObject({
  LocationIndicatorActive: lenient(z.boolean()),
  IndicatorLED: lenient(z.string()),
});
type Lamp = Resource<z.infer<typeof Lamp>>;

const words: Readonly<Record<string, IndicatorState>> = { Lit: 'ON', Off: 'OFF', Blinking: 'BLINKING' };

/** The lamps of the system and of its chassis: `LocationIndicatorActive`, or the older `IndicatorLED`. */
export function redfishIndicators(system: RedfishSystem): IndicatorInterface {
  const { client, clock } = system;
  const lamps = async (signal: AbortSignal): Promise<ReadonlyMap<string, Lamp>> => {
    const { path, data } = await system.read(signal);
    const chassis = data.Links?.Chassis?.[0]?.['@odata.id'];
    const places = [['system', path] as const, ...(chassis === undefined ? [] : [['chassis', chassis] as const])];
    const found = new Map<string, Lamp>();
    for (const [component, place] of places) {
      const lamp = await readResource(client, place, Lamp, signal);
      if (isBoolean(lamp) || lamp.data.IndicatorLED) found.set(component, lamp);
    }
    return found;
  };
  const find = async (component: string, signal: AbortSignal): Promise<Lamp> => {
    const lamp = (await lamps(signal)).get(component);
    if (lamp) return lamp;
    throw new AppError('not_found', `the BMC at ${client.origin} has no indicator of the component ${component}`);
  };
  return {
    list: async (options) => {
      const found = await lamps(callDeadline(options, timeoutMs).signal);
      return [...found].map(([component, lamp]): Indicator => ({ component, name: 'led', states: statesOf(lamp) }));
    },
    read: async (component, options) => {
      const { data } = await find(component, callDeadline(options, timeoutMs).signal);
      if (typeof data.LocationIndicatorActive === 'boolean') return data.LocationIndicatorActive ? 'ON' : 'OFF';
      return words[data.IndicatorLED ?? ''] ?? 'UNKNOWN';
    },
    set: async (component, state, options) => {
      const { signal } = callDeadline(options, timeoutMs);
      const lamp = await find(component, signal);
      const what = `switch the indicator of the ${component} ${state} at ${client.origin}`;
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

function isBoolean({ data }: Lamp): boolean {
  return typeof data.LocationIndicatorActive === 'boolean';
}

function statesOf(lamp: Lamp): readonly IndicatorState[] {
  return isBoolean(lamp) ? ['OFF', 'ON'] : ['BLINKING', 'OFF', 'ON'];
}
