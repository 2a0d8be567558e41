import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { RecorderInterface } from '#conductor/drivers/interfaces.ts';
import type { IpmiConnection } from '#conductor/drivers/ipmi/driver-info.ts';
import { type IpmitoolContext, ipmitool } from '#conductor/drivers/ipmi/ipmitool.ts';
import { errorChain, errorCode } from '#shared/errors/app-error.ts';

const timeoutMs = 300_000;

/** Questions that change nothing. */
const questions = ['mc info', 'chassis status', 'chassis bootparam get 5', 'fru print', 'lan print', 'sdr elist'];

export function ipmiRecorder(context: IpmitoolContext, connection: IpmiConnection): RecorderInterface {
  return {
    record: async (options) => {
      const { signal } = callDeadline(options, timeoutMs);
      const outputs: Record<string, string> = {};
      const faults: string[] = [];
      for (const question of questions) {
        try {
          outputs[`ipmitool ${question}`] = await ipmitool(context, connection, question.split(' '), signal);
        } catch (error) {
          if (signal.aborted || errorCode(error) !== 'bmc_error') throw error;
          faults.push(errorChain(error));
        }
      }
      return { outputs, faults };
    },
  };
}
