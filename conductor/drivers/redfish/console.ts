import { callDeadline } from '#conductor/drivers/call-deadline.ts';
import type { ConsoleInterface } from '#conductor/drivers/interfaces.ts';
import { openSocketLine } from '#conductor/drivers/redfish/console-socket.ts';
import { openSshLine } from '#conductor/drivers/redfish/console-ssh.ts';
import type { LineContext } from '#conductor/drivers/redfish/line-context.ts';
import type { RedfishSystem } from '#conductor/drivers/redfish/system.ts';
import { AppError } from '#shared/errors/app-error.ts';

const openTimeoutMs = 60_000;

/** The system's `SerialConsole` (DMTF ComputerSystem 1.13), over a WebSocket where there is one, else over SSH. */
export function redfishConsole(
  system: RedfishSystem,
  { connection, outbound }: Pick<LineContext, 'connection' | 'outbound'>,
): ConsoleInterface {
  return {
    open: async (size, options) => {
      const { signal } = callDeadline(options, openTimeoutMs);
      const { SerialConsole: offered } = (await system.read(signal)).data;
      const context = { system, connection, outbound, signal };
      const { WebSocket: socket, SSH: ssh } = offered ?? {};
      if (socket?.ServiceEnabled && socket.ConsoleURI) return openSocketLine(context, socket.ConsoleURI);
      if (ssh?.ServiceEnabled) return openSshLine(context, ssh, size);
      throw new AppError(
        'not_supported',
        `the system at ${system.client.origin} offers no serial console over WebSocket or SSH: enable one at the BMC`,
      );
    },
  };
}
