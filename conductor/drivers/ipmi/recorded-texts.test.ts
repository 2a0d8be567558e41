import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import type { Bmc } from '#conductor/drivers/interfaces.ts';
import { readBootFlags } from '#conductor/drivers/ipmi/boot-device.ts';
import { parseIpmiDriverInfo } from '#conductor/drivers/ipmi/driver-info.ts';
import { ipmiHardwareType } from '#conductor/drivers/ipmi/ipmi.ts';
import { createTurns, ipmiFaultOf, ipmitool } from '#conductor/drivers/ipmi/ipmitool.ts';
import { errorCode } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';
import { makeRecordedIpmitool } from '#test/simulators/ipmi/recorded-ipmitool.ts';
import { createInstantClock } from '#test/support/instant-clock.ts';

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

/** The BMC of a recording, by the driver and a program `ipmitool` that prints it. */
async function connect(
  outputs: Readonly<Record<string, string>>,
  { fails }: { readonly fails: boolean },
): Promise<Bmc> {
  const recorded = await makeRecordedIpmitool(outputs, { fails });
  vi.stubEnv('PATH', `${recorded.folder}:/usr/bin:/bin`);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await recorded.remove();
  });
  return ipmiHardwareType({ run, log: silentLog, clock }, { minSpacingMs: 0, retryMs: 30_000, attempts: 1 }).connect(
    login,
  );
}

const clock = createInstantClock();
const program = { run, log: silentLog, clock, turns: createTurns(clock, 0), retryMs: 30_000, attempts: 1 };
const login = { ipmi_address: '192.0.2.1', ipmi_username: 'admin', ipmi_password: 'open sesame' };

const questions: Readonly<Record<string, (bmc: Bmc) => Promise<Reading>>> = {
  'ipmitool power status': async ({ power }) => ({
    power: ((await power.getPowerState())?.replace('power ', '') ?? 'unknown') as Reading['power'],
  }),
  'ipmitool chassis bootparam get 5': async ({ management }) => {
    const flags = await readBootFlags(program, parseIpmiDriverInfo(login), new AbortController().signal);
    const { bootDevice, persistent, bootMode, selected } = flags;
    expect(await management.getBootDevice()).toMatchObject({ bootDevice, persistent });
    expect(await management.getBootMode?.()).toBe(bootMode);
    const boot = { device: bootDevice ?? null, mode: bootMode ?? null };
    return {
      boot: {
        ...boot,
        ...(persistent === undefined ? {} : { persistent }),
        ...(selected === bootDevice ? {} : { selected }),
      },
    };
  },
  'ipmitool -c sdr elist full': async ({ management }) => ({
    sensors: Object.fromEntries(
      ((await management.getSensors?.()) ?? []).map(({ name, value, health }) => [name, { value, health }]),
    ),
  }),
  'ipmitool sel elist last 10': async ({ management }) => ({
    events: ((await management.getEventLog?.(10)) ?? []).map(({ at, severity }) => ({ at, severity })),
  }),
};

const failed = recordings.filter(({ reading }) => reading.fault !== undefined);

test.each(failed)('$name: $shows', async ({ outputs, reading }) => {
  await connect(outputs, { fails: true });
  const [command = ''] = Object.keys(outputs);
  const { signal } = new AbortController();
  const acted = ipmitool(program, parseIpmiDriverInfo(login), command.split(' ').slice(1), signal);
  const error: unknown = await acted.then(
    () => 'done',
    (each: unknown) => each,
  );
  expect(ipmiFaultOf(error) ?? 'refused').toBe(reading.fault);
  expect(errorCode(error)).toMatch(reading.fault === 'refused' ? /^bmc_error$/ : /^(unavailable|bmc_error)$/);
});

test.each(recordings.filter((each) => !failed.includes(each)))('$name: $shows', async ({ outputs, reading }) => {
  const bmc = await connect(outputs, { fails: false });
  const found: Reading[] = [];
  for (const command of Object.keys(outputs)) found.push((await questions[command]?.(bmc)) ?? {});
  expect(Object.assign({}, ...found)).toEqual(reading);
});
