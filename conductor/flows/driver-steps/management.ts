import { z } from 'zod';
import type { Bmc, FirmwareBootInterface, ManagementInterface } from '#conductor/drivers/interfaces.ts';
import { untilBmcIsFree } from '#conductor/flows/bmc/shared-bmc.ts';
import { onRequest, requireOffered } from '#conductor/flows/driver-steps/driver-step.ts';
import {
  type ConductorStepOutcome,
  type DriverStep,
  type StepContext,
  stepArgs,
} from '#conductor/flows/step-context.ts';
import { describeSensor } from '#conductor/model/flows/step-note.ts';
import { type FirmwareBootColumns, readFirmwareBoot } from '#conductor/nodes/boot/boot-mode.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';
import { nameSome } from '#shared/words.ts';

const pollMs = 10_000;
/** Some BMCs take five minutes until they answer again. */
const resetMs = 15 * 60_000;

const ClockArgs = z.strictObject({
  target_datetime: z.iso
    .datetime({ offset: true })
    .optional()
    .describe("ISO 8601 with its offset; default: the conductor's time"),
});

const ModeArgs = z.strictObject({ boot_mode: z.enum(['uefi', 'bios'], { error: 'must be uefi or bios' }) });
const SecureArgs = z.strictObject({ secure_boot: z.boolean({ error: 'must be true or false' }) });

const SensorArgs = z.strictObject({
  fail_at: z
    .enum(['warning', 'critical'], { error: 'must be warning or critical' })
    .optional()
    .describe('The health of a sensor, as its BMC sees it, from which on the step fails; default: it never does'),
});

type Call = 'resetBmc' | 'clearJobQueue' | 'setBmcClock' | 'resetSecureBootKeys' | 'getSensors';

const offered = (call: Call) =>
  ({
    ...onRequest,
    interface: 'management',
    args: z.strictObject({}),
    isOffered: ({ management }: Bmc) => management[call] !== undefined,
  }) as const satisfies Partial<DriverStep>;

/** @throws AppError `not_supported` */
function callOf<Name extends Call>(context: StepContext, name: Name): Required<ManagementInterface>[Name] {
  const call = requireOffered(context, ({ management }) => management[name]?.bind(management));
  return call as Required<ManagementInterface>[Name];
}

/** In Ironic's words where it has them (`clear_job_queue`, `set_bmc_clock`, `clear_secure_boot_keys`, `reset_secure_boot_keys_to_default`). */
export const managementSteps: readonly DriverStep[] = [
  {
    ...offered('resetBmc'),
    step: 'reset_bmc',
    description: 'Restarts the BMC and waits until it answers again.',
    run: async (context) => {
      const waits = await untilBmcIsFree(context, 'the restart of the BMC');
      if (waits) return waits;
      await callOf(context, 'resetBmc')({ signal: context.signal });
      return comesBack;
    },
    resume: awaitBmc,
  },
  {
    ...offered('clearJobQueue'),
    step: 'clear_job_queue',
    description: "Deletes the jobs that wait in the BMC's queue (Dell).",
    run: async (context) => {
      const waits = await untilBmcIsFree(context, 'the deletion of the jobs of the BMC');
      if (waits) return waits;
      await callOf(context, 'clearJobQueue')({ signal: context.signal });
      return { kind: 'done' };
    },
  },
  {
    ...offered('setBmcClock'),
    step: 'set_bmc_clock',
    description: "Sets the BMC's clock.",
    args: ClockArgs,
    run: async (context) => {
      const { target_datetime: given } = ClockArgs.parse(stepArgs(context));
      const now = given === undefined ? context.clock.now() : new Date(given);
      await callOf(context, 'setBmcClock')(now, { signal: context.signal });
      return { kind: 'done' };
    },
  },
  {
    ...offered('getSensors'),
    step: 'get_sensors',
    description: 'Reads the sensors, and fails where one is as bad as is said.',
    args: SensorArgs,
    run: readSensors,
  },
  {
    ...offered('resetSecureBootKeys'),
    step: 'clear_secure_boot_keys',
    description: 'Deletes all secure boot keys: setup mode from the next boot on.',
    run: (context) => resetKeys(context, 'none'),
  },
  {
    ...offered('resetSecureBootKeys'),
    step: 'reset_secure_boot_keys_to_default',
    description: "Puts the maker's secure boot keys back from the next boot on.",
    run: (context) => resetKeys(context, 'maker'),
  },
];

const firmwareBootStep = {
  ...onRequest,
  interface: 'management',
  isOffered: ({ firmwareBoot }: Bmc) => firmwareBoot !== undefined,
} as const satisfies Partial<DriverStep>;

/** Ironic has them as verbs of `states` only. */
export const firmwareBootSteps: readonly DriverStep[] = [
  {
    ...firmwareBootStep,
    step: 'boot_mode',
    description: 'Has the firmware boot by UEFI or BIOS from the next boot on.',
    args: ModeArgs,
    run: (context) => {
      const { boot_mode: bootMode } = ModeArgs.parse(stepArgs(context));
      const set = (firmware: FirmwareBootInterface) => firmware.setBootMode(bootMode, { signal: context.signal });
      // whatever the BMC shows until then: the next boot is to leave it so
      return setFirmwareBoot(context, set, { bootMode });
    },
  },
  {
    ...firmwareBootStep,
    step: 'secure_boot',
    description: 'Switches Secure Boot on or off from the next boot on.',
    args: SecureArgs,
    run: (context) =>
      setFirmwareBoot(context, (firmware, { signal }) =>
        firmware.setSecureBoot(SecureArgs.parse(stepArgs(context)).secure_boot, { signal }),
      ),
  },
];

async function setFirmwareBoot(
  context: StepContext,
  set: (firmware: FirmwareBootInterface, context: StepContext) => Promise<void>,
  asSet: FirmwareBootColumns = {},
): Promise<ConductorStepOutcome> {
  await set(
    requireOffered(context, ({ firmwareBoot }) => firmwareBoot),
    context,
  );
  const known = await readFirmwareBoot(context.bmc(), { log: context.log, signal: context.signal });
  return { kind: 'done', record: () => Promise.resolve({ ...known, ...asSet }) };
}

/** @throws AppError `bmc_error` naming the sensors that are as bad as `fail_at` */
async function readSensors(context: StepContext): Promise<ConductorStepOutcome> {
  const { fail_at: limit } = SensorArgs.parse(stepArgs(context));
  const sensors = await callOf(context, 'getSensors')({ signal: context.signal });
  const bad = sensors.filter(({ health }) => limit && (health === 'critical' || health === limit));
  if (bad.length === 0) return { kind: 'done', output: { sensors } };
  throw new AppError('bmc_error', `the BMC says that ${nameSome(bad.map(describeSensor), 5)}`, {
    situation: 'sensor_bad',
  });
}

const comesBack = {
  kind: 'wait',
  code: 'bmc_task',
  reason: 'the BMC to come back after its reset',
  timeoutMs: resetMs,
  checkEveryMs: pollMs,
} as const satisfies ConductorStepOutcome;

async function awaitBmc(context: StepContext): Promise<ConductorStepOutcome> {
  try {
    await context.bmc().power.getPowerState({ signal: context.signal });
    return { kind: 'done' };
  } catch (error) {
    if (context.signal.aborted || !['unavailable', 'timeout', 'bmc_error'].includes(errorCode(error))) throw error;
    return comesBack;
  }
}

async function resetKeys(context: StepContext, to: 'maker' | 'none'): Promise<ConductorStepOutcome> {
  await callOf(context, 'resetSecureBootKeys')(to, { signal: context.signal });
  return { kind: 'done' };
}
