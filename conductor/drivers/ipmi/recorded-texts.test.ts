import { expect, test } from 'vitest';
import { z } from 'zod';
import { parseBootFlags } from '#conductor/drivers/ipmi/boot-device.ts';
import { parseEventLog, parseSensors } from '#conductor/drivers/ipmi/hardware.ts';
import { faultIn, parsePowerStatus } from '#conductor/drivers/ipmi/ipmitool.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';

const Reading = z
  .strictObject({
    power: z.enum(['on', 'off', 'unknown']),
    boot: z.strictObject({
      device: z.string().nullable(),
      persistent: z.boolean().optional(),
      mode: z.string().nullable(),
      selected: z.string().optional(),
    }),
    sensors: z.record(z.string(), z.strictObject({ value: z.number().nullable(), health: z.string().nullable() })),
    /** Fault in the words of a program that failed; `refused` = that is the BMC's last word. */
    fault: z.string(),
    events: z.array(z.strictObject({ at: z.string().nullable(), severity: z.string().nullable() })),
  })
  .partial();
type Reading = z.infer<typeof Reading>;

const recordings = await readRecordings('ipmi', Reading);

const parsers: Readonly<Record<string, (text: string) => Reading>> = {
  'ipmitool power status': (text) => ({
    power: (parsePowerStatus(text)?.replace('power ', '') ?? 'unknown') as Reading['power'],
  }),
  'ipmitool chassis bootparam get 5': (text) => {
    const { bootDevice, persistent, bootMode, selected } = parseBootFlags(text);
    const boot = { device: bootDevice ?? null, mode: bootMode ?? null };
    return {
      boot: {
        ...boot,
        ...(persistent === undefined ? {} : { persistent }),
        ...(selected === bootDevice ? {} : { selected }),
      },
    };
  },
  'ipmitool -c sdr elist full': (text) => ({
    sensors: Object.fromEntries(parseSensors(text).map(({ name, value, health }) => [name, { value, health }])),
  }),
  'ipmitool sel elist last 10': (text) => ({
    events: parseEventLog(text).map(({ at, severity }) => ({ at, severity })),
  }),
};

const failed = recordings.filter(({ reading }) => reading.fault !== undefined);

test.each(failed)('$name: $shows', ({ outputs, reading }) => {
  expect(Object.values(outputs).map((text) => faultIn(text) ?? 'refused')).toEqual([reading.fault]);
});

test.each(recordings.filter((each) => !failed.includes(each)))('$name: $shows', ({ outputs, reading }) => {
  const found = Object.entries(outputs).map(([command, text]) => parsers[command]?.(text));
  expect(Object.assign({}, ...found)).toEqual(reading);
});
