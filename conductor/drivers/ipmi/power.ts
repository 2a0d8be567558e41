import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { PowerInterface } from '#conductor/drivers/interfaces.ts';
import type { IpmiConnection } from '#conductor/drivers/ipmi/driver-info.ts';
import { type IpmitoolContext, ipmitool, parsePowerStatus } from '#conductor/drivers/ipmi/ipmitool.ts';
import { reachPowerTarget } from '#conductor/drivers/reach-power-target.ts';
import { type PowerState, powerTargets } from '#conductor/model/power-states.ts';

const readTimeoutMs = 60_000;
const hardTimeoutMs = 120_000;
/** An operating system may take its time to shut down (Ironic's `soft_power_off_timeout`). */
const softTimeoutMs = 600_000;

export function ipmiPower(
  context: IpmitoolContext,
  connection: IpmiConnection,
  timings: { readonly pollMs: number; readonly resendAfterMs: number },
): PowerInterface {
  const read = async (signal: AbortSignal): Promise<PowerState | undefined> =>
    parsePowerStatus(await ipmitool(context, connection, ['power', 'status'], signal));
  return {
    supportedTargets: powerTargets,
    getPowerState: (options) => read(callDeadline(options, readTimeoutMs).signal),
    pressPowerButton: async (options) => {
      await ipmitool(context, connection, ['power', 'soft'], callDeadline(options, hardTimeoutMs).signal);
    },
    setPowerState: async (target, options) => {
      const { signal, timeoutMs } = callDeadline(options, target.startsWith('soft') ? softTimeoutMs : hardTimeoutMs);
      const act = async (word: string): Promise<void> => {
        await ipmitool(context, connection, ['power', word], signal);
      };
      await reachPowerTarget(
        target,
        {
          bmc: `${connection.address}:${connection.port}`,
          read: () => read(signal),
          powerOn: () => act('on'),
          powerOff: () => act('off'),
          softPowerOff: () => act('soft'),
        },
        { clock: context.clock, signal, timeoutMs, ...timings },
      );
    },
  };
}
