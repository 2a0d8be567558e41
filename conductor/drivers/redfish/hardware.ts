import { z } from 'zod';
import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { Health, LogEntry, ManagementInterface, SensorReading } from '#conductor/drivers/interfaces.ts';
import {
  readEach,
  readMember,
  readMembers,
  readShownPaths,
  requireRead,
  type Unread,
  unlessUnread,
} from '#conductor/drivers/redfish/client/collection.ts';
import { orUndefined, Reference, Status } from '#conductor/drivers/redfish/client/schemas.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/client/system.ts';
import { nameApart } from '#conductor/drivers/sensor-names.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Some have each entry at its own address. */
const timeoutMs = 10 * 60_000;

const LogService = z.looseObject({
  Id: orUndefined(z.string()),
  LogEntryType: orUndefined(z.string()),
  Entries: orUndefined(Reference),
});
const Entry = z.looseObject({
  Created: orUndefined(z.string()),
  Severity: orUndefined(z.string()),
  Message: orUndefined(z.string()),
  MessageId: orUndefined(z.string()),
});
/** With the entries themselves, as all vendors seen have it, or links to them. */
const Member = Entry.extend({ '@odata.id': orUndefined(z.string()) });
type Member = z.infer<typeof Member>;

/** Read one by one: of more, those at both ends, for BMCs differ in their order. */
const maxLinks = 400;

const severities: Readonly<Record<string, LogEntry['severity']>> = {
  OK: 'ok',
  Warning: 'warning',
  Critical: 'critical',
};

/** The hardware's log, by its type or by the names that vendors have for it. */
function isHardwareLog({ Id: id, LogEntryType: type }: z.infer<typeof LogService>): boolean {
  return type === 'SEL' || /^(sel|iml|platformlog|eventlog|log1|logs)$/i.test(id ?? '');
}

/** The system event log: that of the system, else that of its manager (DMTF LogService, LogEntry). */
export function redfishEventLog(system: RedfishSystem): Pick<ManagementInterface, 'getEventLog'> {
  const { client } = system;
  return {
    getEventLog: async (newest, options) => {
      const { signal } = callDeadline(options, timeoutMs);
      const { data } = await system.read(signal);
      const managers = (data.Links?.ManagedBy ?? []).map((manager) => manager['@odata.id']);
      const Holder = z.looseObject({ LogServices: orUndefined(Reference) });
      const holders = await readEach(client, managers, Holder, signal);
      const places = [data.LogServices, ...holders.read.map((holder) => holder.data.LogServices)];
      const unread = [...holders.unread];
      for (const place of places) {
        if (!place) continue;
        const members = await readShownPaths(client, place['@odata.id'], signal);
        const services = await readEach(client, members.read, LogService, signal);
        unread.push(...members.unread, ...services.unread);
        for (const { data: service } of services.read) {
          if (!service.Entries || !isHardwareLog(service)) continue;
          const entries = await readEntries(client, service.Entries['@odata.id'], signal);
          return entries.map(entryOf).toSorted(byTime).slice(-newest);
        }
      }
      requireRead(unread);
      throw new AppError('not_supported', `the BMC at ${client.origin} shows no system event log`);
    },
  };
}

async function readEntries(client: RedfishSystem['client'], first: string, signal: AbortSignal) {
  const { read: members, unread } = await readMembers(client, first, Member, signal);
  // of a log that can't be read nobody knows that it is empty
  if (members.length === 0) requireRead(unread);
  const isLink = (member: Member): boolean => Object.keys(member).every((key) => key === '@odata.id');
  const links = members.filter(isLink);
  const read = links.length > maxLinks ? [...links.slice(0, maxLinks / 2), ...links.slice(-maxLinks / 2)] : links;
  const entries: z.infer<typeof Entry>[] = members.filter((member) => !isLink(member));
  const paths = read.flatMap(({ '@odata.id': path }) => path ?? []);
  return [...entries, ...(await readEach(client, paths, Entry, signal)).read.map(({ data }) => data)];
}

function entryOf({
  Created: at,
  Severity: severity,
  Message: message,
  MessageId: id,
}: z.infer<typeof Entry>): LogEntry {
  const isTime = at && !Number.isNaN(Date.parse(at));
  return {
    at: isTime ? new Date(at).toISOString() : null,
    severity: severities[severity ?? ''] ?? null,
    message: (message || id || 'no message').slice(0, 500),
  };
}

function byTime(one: LogEntry, other: LogEntry): number {
  return (one.at ?? '').localeCompare(other.at ?? '');
}

/** Each of the newer sensors is a request of its own. */
const readTimeoutMs = 10 * 60_000;
const maxSensors = 200;

const number = orUndefined(z.number());
const text = orUndefined(z.string());
const list = <Shape extends z.ZodRawShape>(shape: Shape) =>
  orUndefined(z.array(z.looseObject({ Name: text, Status: orUndefined(Status), ...shape })));

const Chassis = z.looseObject({
  Thermal: orUndefined(Reference),
  Power: orUndefined(Reference),
  Sensors: orUndefined(Reference),
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
  Status: orUndefined(Status),
});

const kinds: Readonly<Record<string, SensorReading['kind']>> = {
  Temperature: 'temperature',
  Rotational: 'fan',
  Voltage: 'voltage',
  Current: 'current',
  Power: 'power',
};

/**
 * Makes the sensors of the system's chassis: `Thermal` and `Power`, else the `Sensors` that have taken their place
 * (DMTF Chassis schema).
 */
export function redfishSensors(system: RedfishSystem): Pick<ManagementInterface, 'getSensors'> {
  const { client } = system;
  return {
    getSensors: async (options) => {
      const { signal } = callDeadline(options, readTimeoutMs);
      const places = (await system.read(signal)).data.Links?.Chassis ?? [];
      const found: SensorReading[] = [];
      const paths = places.map((place) => place['@odata.id']);
      const { read, unread } = await readEach(client, paths, Chassis, signal);
      const ask: Ask = { client, signal, unread: [...unread] };
      for (const { data } of read) {
        const old = [...(await thermal(ask, data.Thermal)), ...(await power(ask, data.Power))];
        found.push(...(old.length > 0 ? old : await sensors(ask, data.Sensors)));
      }
      if (found.length === 0) requireRead(ask.unread);
      return nameApart(found.slice(0, maxSensors));
    },
  };
}

type Place = { readonly '@odata.id': string } | null | undefined;

interface Ask {
  readonly client: RedfishSystem['client'];
  readonly signal: AbortSignal;
  /** Grows by what can't be read. */
  readonly unread: Unread[];
}

async function readPart<T>({ client, signal, unread }: Ask, place: Place, schema: z.ZodType<T>) {
  if (!place) return undefined;
  const path = place['@odata.id'];
  return (await unlessUnread(client, path, unread, signal, () => readMember(client, path, schema, signal)))?.data;
}

async function thermal(ask: Ask, place: Place): Promise<SensorReading[]> {
  const part = await readPart(ask, place, Thermal);
  return [
    ...readings(part?.Temperatures, 'temperature', (each) => [each.ReadingCelsius, 'Cel']),
    ...readings(part?.Fans, 'fan', (each) => [each.Reading, each.ReadingUnits === 'Percent' ? '%' : 'RPM']),
  ];
}

async function power(ask: Ask, place: Place): Promise<SensorReading[]> {
  const part = await readPart(ask, place, Power);
  return [
    ...readings(part?.PowerControl, 'power', (each) => [each.PowerConsumedWatts, 'W']),
    ...readings(part?.PowerSupplies, 'power', (each) => [each.LastPowerOutputWatts, 'W']),
    ...readings(part?.Voltages, 'voltage', (each) => [each.ReadingVolts, 'V']),
  ];
}

async function sensors({ client, signal, unread }: Ask, place: Place): Promise<SensorReading[]> {
  if (!place) return [];
  const members = await readShownPaths(client, place['@odata.id'], signal);
  const { read, unread: lost } = await readEach(client, members.read.slice(0, maxSensors), Sensor, signal);
  unread.push(...members.unread, ...lost);
  return read.flatMap(({ data }) => {
    const kind = kinds[data.ReadingType ?? ''] ?? 'other';
    return readings([data], kind, (each) => [each.Reading, each.ReadingUnits]);
  });
}

interface Reported {
  readonly Name?: string | null | undefined;
  readonly FanName?: string | null | undefined;
  readonly Status?: Status | null | undefined;
}

/** Lists the readings of parts that are there. */
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

/** Reads a word of `Status.Health` (DMTF Resource schema); `null`: the BMC says nothing, or another word. */
export function healthOf(text: string | null | undefined): Health | null {
  if (text === 'OK') return 'ok';
  return text === 'Warning' ? 'warning' : text === 'Critical' ? 'critical' : null;
}
