import type { ApiClient } from '#conductor/cli/api-client.ts';
import { tryPatiently } from '#conductor/cli/look-patiently.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';

const everyMs = 2_000;
/** A try at a BMC that does not answer has the node for 23 s, and then leaves it alone for 5. */
const patienceMs = 45_000;

/** Requests that are refused because a conductor is at the node are made again, as by Ironic's own client. */
export function waitForLock(
  client: ApiClient,
  { clock, tell }: { readonly clock: Clock; readonly tell: (line: string) => void },
): ApiClient {
  return {
    ...client,
    call: (...request) => {
      let isTold = false;
      const passes = (error: unknown): boolean => {
        if (!isLocked(error)) return false;
        if (!isTold) tell(`${error.message} Trying again for ${patienceMs / 1000} s`);
        isTold = true;
        return true;
      };
      return tryPatiently(() => client.call(...request), { clock, passes, forMs: patienceMs, everyMs });
    },
  };
}

/** Whatever else is a conflict does not pass by itself. */
function isLocked(error: unknown): error is AppError {
  return error instanceof AppError && error.code === 'conflict' && error.message.includes(' is locked by host ');
}
