import type { Quirks } from '#test/simulators/redfish/faults.ts';
import { collection } from '#test/simulators/redfish/service-resources.ts';

/** Sensors of the chassis, and the hardware's log (DMTF Thermal, Power, Sensor, LogService). */

export const chassisPath = '/redfish/v1/Chassis/1';
export const logServicesPath = '/redfish/v1/Systems/1/LogServices';
const ok = { State: 'Enabled', Health: 'OK' };

const all = [
  { id: 'Ambient', name: 'Ambient Temp', type: 'Temperature', reading: 19, units: 'Cel', status: ok },
  {
    id: 'CPU1',
    name: 'CPU 1 Temp',
    type: 'Temperature',
    reading: 92.5,
    units: 'Cel',
    status: { ...ok, Health: 'Warning' },
  },
  { id: 'Fan1', name: 'Fan 1', type: 'Rotational', reading: 4200, units: 'RPM', status: ok },
  {
    id: 'Fan2',
    name: 'Fan 2',
    type: 'Rotational',
    reading: null,
    units: 'RPM',
    status: { State: 'Absent', Health: null },
  },
  { id: 'Input', name: 'Input Power', type: 'Power', reading: 312, units: 'W', status: ok },
] as const;

/** Composes the chassis' links to its sensors. */
export function sensorLinks({ sensors }: Quirks): Record<string, unknown> {
  if (sensors === 'none') return {};
  if (sensors === 'one by one') return { Sensors: { '@odata.id': `${chassisPath}/Sensors` } };
  return { Thermal: { '@odata.id': `${chassisPath}/Thermal` }, Power: { '@odata.id': `${chassisPath}/Power` } };
}

export function sensorResources({ sensors }: Quirks): Record<string, Record<string, unknown>> {
  const of = (place: string, type: string, value: string) =>
    all
      .filter((each) => each.type === type)
      .map((each, index) => ({
        '@odata.id': `${chassisPath}/${place}/${index}`,
        MemberId: String(index),
        Name: each.name,
        [value]: each.reading,
        Status: each.status,
      }));
  if (sensors === 'one by one') {
    const paths = all.map(({ id }) => `${chassisPath}/Sensors/${id}`);
    return {
      [`${chassisPath}/Sensors`]: collection('SensorCollection', 'Sensors', paths),
      ...Object.fromEntries(
        all.map((each) => [
          `${chassisPath}/Sensors/${each.id}`,
          {
            '@odata.type': '#Sensor.v1_5_0.Sensor',
            Id: each.id,
            Name: each.name,
            ReadingType: each.type,
            Reading: each.reading,
            ReadingUnits: each.units,
            Status: each.status,
          },
        ]),
      ),
    };
  }
  if (sensors === 'none') return {};
  return {
    [`${chassisPath}/Thermal`]: {
      '@odata.type': '#Thermal.v1_6_0.Thermal',
      Id: 'Thermal',
      Name: 'Thermal',
      Temperatures: of('Thermal#/Temperatures', 'Temperature', 'ReadingCelsius'),
      Fans: of('Thermal#/Fans', 'Rotational', 'Reading').map((fan) => ({ ...fan, ReadingUnits: 'RPM' })),
    },
    [`${chassisPath}/Power`]: {
      '@odata.type': '#Power.v1_6_0.Power',
      Id: 'Power',
      Name: 'Power',
      PowerControl: of('Power#/PowerControl', 'Power', 'PowerConsumedWatts'),
    },
  };
}

export function logResources({ logPages }: Quirks): Record<string, Record<string, unknown>> {
  const service = (id: string, type: string): Record<string, unknown> => ({
    '@odata.type': '#LogService.v1_2_0.LogService',
    Id: id,
    Name: `Log ${id}`,
    LogEntryType: type,
    Entries: { '@odata.id': `${logServicesPath}/${id}/Entries` },
  });
  const entries = [
    { at: '2026-11-24T18:00:02Z', severity: 'Critical', text: 'Power supply 1 lost its input.' },
    { at: '2026-11-24T18:00:01Z', severity: 'OK', text: 'The chassis was opened.' },
  ].map(({ at, severity, text }, index) => ({
    '@odata.id': `${logServicesPath}/Sel/Entries/${index}`,
    '@odata.type': '#LogEntry.v1_8_0.LogEntry',
    Id: String(index),
    Name: `Entry ${index}`,
    EntryType: 'SEL',
    Created: at,
    Severity: severity,
    Message: text,
  }));
  return {
    [logServicesPath]: collection('LogServiceCollection', 'Log services', [
      `${logServicesPath}/Audit`,
      `${logServicesPath}/Sel`,
    ]),
    [`${logServicesPath}/Audit`]: service('Audit', 'OEM'),
    [`${logServicesPath}/Sel`]: service('Sel', 'SEL'),
    [`${logServicesPath}/Audit/Entries`]: collection('LogEntryCollection', 'Entries', []),
    [`${logServicesPath}/Sel/Entries`]: {
      ...collection('LogEntryCollection', 'Entries', []),
      'Members@odata.count': entries.length,
      Members: entries,
    },
    ...(logPages ? pagesOf(entries.toReversed().map((entry) => entry['@odata.id'])) : {}),
    ...Object.fromEntries(entries.map((entry) => [entry['@odata.id'], entry])),
  };
}

/** A page for each entry, which is a link. */
function pagesOf(links: readonly string[]): Record<string, Record<string, unknown>> {
  const place = (index: number): string => `${logServicesPath}/Sel/Entries${index === 0 ? '' : `/Page${index}`}`;
  const page = (link: string, index: number): Record<string, unknown> => ({
    ...collection('LogEntryCollection', 'Entries', [link]),
    'Members@odata.count': links.length,
    ...(index + 1 < links.length ? { 'Members@odata.nextLink': place(index + 1) } : {}),
  });
  return Object.fromEntries(links.map((link, index) => [place(index), page(link, index)]));
}
