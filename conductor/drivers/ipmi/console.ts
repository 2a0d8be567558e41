import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { ConsoleInterface } from '#conductor/drivers/interfaces.ts';
import type { IpmiConnection } from '#conductor/drivers/ipmi/driver-info.ts';
import { type IpmitoolContext, ipmitool, ipmitoolProgram } from '#conductor/drivers/ipmi/ipmitool.ts';
import { errorCode } from '#shared/errors/app-error.ts';
import { openProgram } from '#shared/terminal/open-program.ts';

const openTimeoutMs = 60_000;

/** ipmitool's own commands follow this character at the beginning of a line: Ctrl-], which `baton console` leaves alone. */
const escape = '\u001d';

/** IPMI 2.0's Serial over LAN. */
export function ipmiConsole(context: IpmitoolContext, connection: IpmiConnection): ConsoleInterface {
  return {
    open: async (size, options) => {
      const { signal } = callDeadline(options, openTimeoutMs);
      try {
        await ipmitool(context, connection, ['sol', 'deactivate'], signal);
      } catch (error) {
        // many BMCs call it an error that there was none
        if (errorCode(error) !== 'bmc_error') throw error;
        context.log.debug({ err: error, bmc: connection.address }, 'no console was ended');
      }
      const program = await ipmitoolProgram(context, connection, ['-e', escape, 'sol', 'activate']);
      const terminal = await openProgram({ ...program, ...size });
      const ended = new Promise<string>((resolve) => {
        terminal.onExit((code) => resolve(`ipmitool sol activate ended with ${code}`));
      });
      return { ...terminal, ended };
    },
  };
}
