import { expect, test } from 'vitest';
import { parseEventLog, parseSensors } from '#conductor/drivers/ipmi/hardware.ts';

test('sensors as ipmitool lists them', () => {
  const text = [
    'Inlet Temp,23,degrees C,ok,7.1',
    'CPU1 Temp,91,degrees C,unc,3.1',
    'Fan1 RPM,0,RPM,lcr,29.1',
    'Exhaust Temp,,degrees C,ns,7.1',
    'Pwr Consumption,168,Watts,ok,7.1',
    'Intrusion,0x00,discrete,ok,7.1',
    'nonsense',
    '',
  ].join('\n');
  expect(parseSensors(text)).toEqual([
    { name: 'Inlet Temp', kind: 'temperature', value: 23, unit: 'Cel', health: 'ok' },
    { name: 'CPU1 Temp', kind: 'temperature', value: 91, unit: 'Cel', health: 'warning' },
    { name: 'Fan1 RPM', kind: 'fan', value: 0, unit: 'RPM', health: 'critical' },
    { name: 'Pwr Consumption', kind: 'power', value: 168, unit: 'W', health: 'ok' },
    { name: 'Intrusion', kind: 'other', value: 0, unit: 'discrete', health: 'ok' },
  ]);
});

test('the event log as ipmitool lists it, with a clock that was never set', () => {
  const text = [
    '   1 | 11/24/2026 | 19:00:01 UTC | Temperature CPU1 Temp | Upper Critical going high | Asserted',
    '   a |  Pre-Init  |0000000021| Power Supply #0x64 | Power Supply AC lost | Asserted',
    '   b | 11/24/26 | 19:00:02 UTC | Fan #0x30 | Lower Critical going low  | Asserted',
    '   c | 11/24/26 | 19:00:03 UTC | Fan #0x30 | Lower Critical going low  | Deasserted',
    '   d | 11/24/26 | 19:00:04 UTC | Fan Critical Zone | Upper Non-critical going high | Asserted',
    'SEL has no entries',
  ].join('\n');
  expect(parseEventLog(text)).toEqual([
    {
      at: '2026-11-24T19:00:01.000Z',
      severity: 'critical',
      message: 'Temperature CPU1 Temp, Upper Critical going high, Asserted',
    },
    { at: null, severity: 'critical', message: 'Power Supply #0x64, Power Supply AC lost, Asserted' },
    { at: '2026-11-24T19:00:02.000Z', severity: 'critical', message: 'Fan #0x30, Lower Critical going low, Asserted' },
    { at: '2026-11-24T19:00:03.000Z', severity: null, message: 'Fan #0x30, Lower Critical going low, Deasserted' },
    {
      at: '2026-11-24T19:00:04.000Z',
      severity: null,
      message: 'Fan Critical Zone, Upper Non-critical going high, Asserted',
    },
  ]);
});
