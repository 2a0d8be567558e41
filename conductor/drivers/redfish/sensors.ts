import { z } from 'zod';
import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { Health, ManagementInterface, SensorReading } from '#conductor/drivers/interfaces.ts';
import { readResource } from '#conductor/drivers/redfish/resource.ts';
import { Collection, lenient, Reference, Status } from '#conductor/drivers/redfish/schemas.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/system.ts';

const readTimeoutMs = 120_000;
/** Each of the newer sensors is a request of its own. */
const maxSensors = 200;

const number = lenient(z.number());
const text = lenient(z.string());
const list = <Shape extends z.ZodRawShape>(shape: Shape) =>
  lenient(z.array(z.looseObject({ Name: text, Status: lenient(Status), ...shape })));

const Chassis = z.looseObject({
  Thermal: lenient(Reference),
  Power: lenient(Reference),
  Sensors: lenient(Reference),
});
const Thermal = z.looseObject({
  Temperatures: list({ ReadingCelsius: number }),
  Fans: list({ FanName: text, Reading: number, ReadingUnits: text }),
});
const Power = z.looseObject({
  PowerControl: list({ PowerConsumedWatts: number }),
  PowerSupplies: list({ LastPowerOutputWatts: number }),
  Voltages: list({ ReadingVolts: number }),
});
const Sensor = z.looseObject({
  Name: text,
  Reading: number,
  ReadingType: text,
  ReadingUnits: text,
  Status: lenient(Status),
});

const kinds: Readonly<Record<string, SensorReading['kind']>> = {
  Temperature: 'temperature',
  Rotational: 'fan',
  Voltage: 'voltage',
  Current: 'current',
  Power: 'power',
};

/** Of the system's chassis: `Thermal` and `Power`, else the `Sensors` that have taken their place (DMTF Chassis schema). */
export function redfishSensors(system: RedfishSystem): Pick<ManagementInterface, 'getSensors'> {
  const { client } = system;
  return {
    getSensors: async (options) => {
      const { signal } = callDeadline(options, readTimeoutMs);
      const places = (await system.read(signal)).data.Links?.Chassis ?? [];
      const found: SensorReading[] = [];
      for (const place of places) {
        const { data } = await readResource(client, place['@odata.id'], Chassis, signal);
        const old = [...(await thermal(system, data.Thermal, signal)), ...(await power(system, data.Power, signal))];
        found.push(...(old.length > 0 ? old : await sensors(system, data.Sensors, signal)));
      }
      return found.slice(0, maxSensors);
    },
  };
}

type Place = { readonly '@odata.id': string } | null | undefined;

async function thermal({ client }: RedfishSystem, place: Place, signal: AbortSignal): Promise<SensorReading[]> {
  if (!place) return [];
  const { Temperatures, Fans } = (await readResource(client, place['@odata.id'], Thermal, signal)).data;
  return [
    ...readings(Temperatures, 'temperature', (each) => [each.ReadingCelsius, 'Cel']),
    ...readings(Fans, 'fan', (each) => [each.Reading, each.ReadingUnits === 'Percent' ? '%' : 'RPM']),
  ];
}

async function power({ client }: RedfishSystem, place: Place, signal: AbortSignal): Promise<SensorReading[]> {
  if (!place) return [];
  const { PowerControl, PowerSupplies, Voltages } = (await readResource(client, place['@odata.id'], Power, signal))
    .data;
  return [
    ...readings(PowerControl, 'power', (each) => [each.PowerConsumedWatts, 'W']),
    ...readings(PowerSupplies, 'power', (each) => [each.LastPowerOutputWatts, 'W']),
    ...readings(Voltages, 'voltage', (each) => [each.ReadingVolts, 'V']),
  ];
}

async function sensors({ client }: RedfishSystem, place: Place, signal: AbortSignal): Promise<SensorReading[]> {
  if (!place) return [];
  const { Members } = (await readResource(client, place['@odata.id'], Collection, signal)).data;
  const found: SensorReading[] = [];
  for (const member of Members.slice(0, maxSensors)) {
    const { data } = await readResource(client, member['@odata.id'], Sensor, signal);
    const kind = kinds[data.ReadingType ?? ''] ?? 'other';
    found.push(...readings([data], kind, (each) => [each.Reading, each.ReadingUnits]));
  }
  return found;
}

interface Reported {
  readonly Name?: string | null | undefined;
  readonly FanName?: string | null | undefined;
  readonly Status?: Status | null | undefined;
}

/** Those of parts that are there. */
function readings<Each extends Reported>(
  all: readonly Each[] | null | undefined,
  kind: SensorReading['kind'],
  valueOf: (each: Each) => readonly [number | null | undefined, string | null | undefined],
): SensorReading[] {
  const present = (all ?? []).filter(({ Status: status }) => !['Absent', 'Disabled'].includes(status?.State ?? ''));
  return present.map((each) => {
    const [value, unit] = valueOf(each);
    const name = each.Name ?? each.FanName ?? 'unnamed';
    return { name, kind, value: value ?? null, unit: unit ?? null, health: healthOf(each.Status?.Health) };
  });
}

function healthOf(text: string | null | undefined): Health | null {
  if (text === 'OK') return 'ok';
  return text === 'Warning' ? 'warning' : text === 'Critical' ? 'critical' : null;
}
