import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type {
  IndicatorInterface,
  LogEntry,
  ManagementInterface,
  SensorReading,
} from '#conductor/drivers/interfaces.ts';
import type { IpmiConnection } from '#conductor/drivers/ipmi/driver-info.ts';
import { type IpmitoolContext, ipmitool } from '#conductor/drivers/ipmi/ipmitool.ts';
import { nameApart } from '#conductor/drivers/sensor-names.ts';
import { AppError } from '#shared/errors/app-error.ts';

const timeoutMs = 120_000;
const maxSensors = 200;

/** Sensors, the event log and the chassis' lamp, by ipmitool. */
export function ipmiHardware(
  context: IpmitoolContext,
  connection: IpmiConnection,
): Required<Pick<ManagementInterface, 'getSensors' | 'getEventLog'>> {
  return {
    getSensors: async (options) => {
      const { signal } = callDeadline(options, timeoutMs);
      return parseSensors(await ipmitool(context, connection, ['-c', 'sdr', 'elist', 'full'], signal));
    },
    getEventLog: async (newest, options) => {
      const { signal } = callDeadline(options, timeoutMs);
      return parseEventLog(await ipmitool(context, connection, ['sel', 'elist', 'last', String(newest)], signal));
    },
  };
}

/** IPMI switches the lamp for identification, and does not report how it is. */
export function ipmiIndicators(context: IpmitoolContext, connection: IpmiConnection): IndicatorInterface {
  const lamp = { component: 'chassis', name: 'led', states: ['OFF', 'ON'], state: 'UNKNOWN', place: '' } as const;
  return {
    list: (options) => Promise.resolve((options?.component ?? 'chassis') === 'chassis' ? [lamp] : []),
    set: async (_, state, options) => {
      if (state !== 'ON' && state !== 'OFF') throw new AppError('invalid_argument', 'state: it may be OFF, ON');
      const { signal } = callDeadline(options, timeoutMs);
      const how = state === 'ON' ? 'force' : '0';
      await ipmitool(context, connection, ['chassis', 'identify', how], signal);
    },
  };
}

const units: Readonly<Record<string, readonly [SensorReading['kind'], string]>> = {
  'degrees C': ['temperature', 'Cel'],
  RPM: ['fan', 'RPM'],
  Volts: ['voltage', 'V'],
  Amps: ['current', 'A'],
  Watts: ['power', 'W'],
  percent: ['other', '%'],
};

const healths: Readonly<Record<string, SensorReading['health']>> = {
  ok: 'ok',
  nc: 'warning',
  lnc: 'warning',
  unc: 'warning',
  cr: 'critical',
  lcr: 'critical',
  ucr: 'critical',
  nr: 'critical',
  lnr: 'critical',
  unr: 'critical',
};

/** Lines of `name,value,unit,status,…`; `ns` = no reading. */
export function parseSensors(text: string): SensorReading[] {
  const lines = text.split('\n').filter((line) => line.includes(','));
  const found = lines.slice(0, maxSensors).flatMap((line): SensorReading[] => {
    const [name = '', value = '', unit = '', status = ''] = line.split(',').map((part) => part.trim());
    if (name === '' || status === 'ns' || status === '') return [];
    const [kind, short] = units[unit] ?? (['other', unit === '' ? null : unit] as const);
    const reading = value === '' ? Number.NaN : Number(value);
    const health = healths[status] ?? null;
    return [{ name, kind, value: Number.isFinite(reading) ? reading : null, unit: short, health }];
  });
  return nameApart(found);
}

/** Lines of `id | mm/dd/yyyy | hh:mm:ss UTC | sensor | event | Asserted`; since ipmitool 1.8.19 with `yy`. */
export function parseEventLog(text: string): LogEntry[] {
  return text.split('\n').flatMap((line) => {
    const [id = '', date = '', time = '', ...words] = line.split('|').map((part) => part.trim());
    if (!/^[0-9a-f]+$/i.test(id) || words.length === 0) return [];
    const [, month, day, year] = /^(\d\d)\/(\d\d)\/(\d{4}|\d\d)$/.exec(date) ?? [];
    const [clock = ''] = time.split(' ');
    const at = new Date(`${year?.padStart(4, '20')}-${month}-${day}T${clock}Z`);
    const message = words.join(', ').slice(0, 500);
    return [{ at: Number.isNaN(at.getTime()) ? null : at.toISOString(), severity: severityOf(words), message }];
  });
}

/** The log has none but in words, of which ipmitool has these (IPMI 2.0, tables 42-2 and 42-3). */
const criticalEvent =
  /\b(upper|lower) (critical|non-?recoverable) going\b|^transition to (critical|non-?recoverable)|uncorrectable|\b(IERR|thermal trip|failure detected|AC lost|drive fault|bus fatal)\b/i;

function severityOf(words: readonly string[]): LogEntry['severity'] {
  const isOver = words.some((word) => /^deasserted$/i.test(word));
  return !isOver && words.slice(1).some((word) => criticalEvent.test(word)) ? 'critical' : null;
}
