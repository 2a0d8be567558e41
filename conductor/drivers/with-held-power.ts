import type { Bmc } from '#conductor/drivers/interfaces.ts';
import type { PowerHold } from '#conductor/model/power-and-boot.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Refuses whatever would switch the machine's power, stop its system, restart its BMC or delete its jobs, until the hold is over. */
export function withHeldPower(bmc: Bmc, hold: PowerHold, clock: Pick<Clock, 'now'>): Bmc {
  const { power, management } = bmc;
  const requireFree = (action: string): void => requirePowerFree(hold, action, clock.now());
  return {
    ...bmc,
    power: {
      ...power,
      setPowerState: async (target, options) => {
        requireFree(target);
        await power.setPowerState(target, options);
      },
      ...(power.pressPowerButton && {
        pressPowerButton: async (options) => {
          requireFree('a press of the power button');
          await power.pressPowerButton?.(options);
        },
      }),
    },
    management: {
      ...management,
      ...(management.resetBmc && {
        resetBmc: async (options) => {
          requireFree('a reset of the BMC');
          await management.resetBmc?.(options);
        },
      }),
      ...(management.injectNmi && {
        // the machine's system dies of it, and with it what an agent writes
        injectNmi: async (options) => {
          requireFree('a non-maskable interrupt');
          await management.injectNmi?.(options);
        },
      }),
      ...(management.clearJobQueue && {
        // what is under way may be a job of it
        clearJobQueue: async (options) => {
          requireFree('a deletion of the jobs of the BMC');
          await management.clearJobQueue?.(options);
        },
      }),
    },
  };
}

/**
 * Has `hold` done before each call that may begin what must not lose power.
 * @param noteAsked is called once a BMC has accepted a change of the BIOS, which then waits for a reset
 */
export function holdingPowerFirst(bmc: Bmc, hold: () => Promise<void>, noteAsked: () => void): Bmc {
  const { bios, firmware, power, raid } = bmc;
  const first =
    <Args extends unknown[], Answer>(call: (...args: Args) => Promise<Answer>) =>
    async (...args: Args): Promise<Answer> => {
      await hold();
      return call(...args);
    };
  const accepted =
    <Args extends unknown[], Answer>(call: (...args: Args) => Promise<Answer>) =>
    async (...args: Args): Promise<Answer> => {
      const answer = await call(...args);
      noteAsked();
      return answer;
    };
  return {
    ...bmc,
    power: { ...power, setPowerState: first(power.setPowerState.bind(power)) },
    ...(bios && {
      bios: {
        ...bios,
        applySettings: accepted(first(bios.applySettings.bind(bios))),
        factoryReset: accepted(first(bios.factoryReset.bind(bios))),
      },
    }),
    ...(firmware && {
      firmware: {
        ...firmware,
        // what is read before begins nothing
        startUpdate: (update, withFile, options) =>
          firmware.startUpdate(update, withFile, {
            ...options,
            beforeAsking: async (before) => {
              await hold();
              await options?.beforeAsking?.(before);
            },
          }),
      },
    }),
    ...(raid && {
      raid: {
        ...raid,
        createVolume: first(raid.createVolume.bind(raid)),
        deleteVolume: first(raid.deleteVolume.bind(raid)),
      },
    }),
  };
}

/** @throws AppError `power_held` naming the reason and the time until which it holds. */
export function requirePowerFree(hold: PowerHold | null, action: string, now: Date): void {
  if (!isPowerHeld(hold, now)) return;
  throw new AppError(
    'power_held',
    `${action}: not before ${hold.until}: ${hold.why}, and a machine that loses power amid it may never start again. ` +
      'Who knows that nothing is under way ends this by `baton power release`',
  );
}

/** Whether the machine must not lose power now. */
function isPowerHeld(hold: PowerHold | null, now: Date): hold is PowerHold {
  return hold !== null && now.getTime() < Date.parse(hold.until);
}
