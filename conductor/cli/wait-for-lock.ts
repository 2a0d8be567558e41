import type { ApiClient } from '#conductor/cli/api-client.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { retry } from '#shared/retry.ts';

const everyMs = 2_000;
/** A try at a BMC that does not answer has the node for 23 s, and then leaves it alone for 5. */
const patienceMs = 45_000;

/** Requests that are refused because a conductor is at the node are made again, as by Ironic's own client. */
export function waitForLock(
  client: ApiClient,
  { clock, notify }: { readonly clock: Clock; readonly notify: (line: string) => void },
): ApiClient {
  return {
    ...client,
    call: (...request) => {
      const onRetry = (error: unknown, attempt: number): void => {
        if (attempt === 1) notify(`${errorChain(error)} Trying again for ${patienceMs / 1000} s`);
      };
      const options = { clock, passes: isLocked, withinMs: patienceMs + everyMs, delayMs: () => everyMs, onRetry };
      return retry(() => client.call(...request), options);
    },
  };
}

/** Other conflicts do not pass by themselves. */
function isLocked(error: unknown): boolean {
  return error instanceof AppError && error.code === 'node_locked';
}
