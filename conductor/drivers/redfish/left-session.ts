import type { BmcSession, LeftSession } from '#conductor/drivers/bmc-session.ts';
import type { RedfishClient } from '#conductor/drivers/redfish/client/client.ts';
import { httpStatusOf, isLoginRefused } from '#conductor/drivers/redfish/client/errors.ts';
import { LoginSession } from '#conductor/drivers/redfish/client/schemas.ts';
import { AppError } from '#shared/errors/app-error.ts';

const timeoutMs = 10_000;
const notEnded = 'a session that a conductor had left at a BMC is not ended: it ends by the timeout of the BMC';

/** Ends a session that nobody has the token of, with the client's own login, once the BMC shows that it is still ours. */
export async function endLeftSession(
  client: Pick<RedfishClient, 'request' | 'log'>,
  { origin, path, username }: BmcSession,
  signal: AbortSignal,
): Promise<LeftSession> {
  const about = { bmc: origin, session: path, username };
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  try {
    const { body } = await client.request({ method: 'GET', path, signal: limit });
    const shown = LoginSession.safeParse(body).data?.UserName;
    if (typeof shown !== 'string') throw new AppError('bmc_error', 'the BMC does not show whose session it is');
    // a BMC that was restarted gives its ids again
    if (shown.toLowerCase() !== username.toLowerCase()) return 'ended';
    await client.request({ method: 'DELETE', path, signal: limit });
    client.log.info(about, 'a session that a conductor had left at a BMC is ended');
    return 'ended';
  } catch (err) {
    const status = httpStatusOf(err);
    if (status === 404 || status === 410) return 'ended';
    // a BMC that is away or busy is asked again, and one whose account has another password now
    const isPassing = status !== undefined && (isLoginRefused(err) || status === 500 || status > 501);
    const isRefused = err instanceof AppError && err.code === 'bmc_error' && !isPassing;
    client.log[isRefused ? 'warn' : 'debug'](
      { ...about, err },
      isRefused ? notEnded : 'a session left at a BMC could not be ended now',
    );
    return isRefused ? 'refused' : 'unreached';
  }
}
