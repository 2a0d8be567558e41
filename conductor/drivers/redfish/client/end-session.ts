import type { BmcSession, SessionRecord } from '#conductor/drivers/bmc-session.ts';
import { barePath, ownPath } from '#conductor/drivers/redfish/client/own-path.ts';
import { LoginSession } from '#conductor/drivers/redfish/client/schemas.ts';
import type { RedfishAnswer, Transport } from '#conductor/drivers/redfish/client/transport.ts';
import type { Log } from '#shared/log.ts';

const timeoutMs = 5000;

export interface Session {
  readonly token: string;
  /** `undefined` when the BMC did not say where it is. */
  readonly place: BmcSession | undefined;
}

/**
 * Finds the path of a session that was made: `Location` (path or URL), else, where a BMC leaves that empty or names the
 * collection, the body's own link or id. `undefined` where none of them names a session.
 */
export function sessionPath({ headers, body }: RedfishAnswer, sessions: string, origin: string): string | undefined {
  const made = LoginSession.safeParse(body).data;
  const collection = barePath(ownPath(sessions, origin) ?? sessions);
  const byId = made?.Id ? `${collection}/${encodeURIComponent(made.Id)}` : undefined;
  const links = [headers['location'], made?.['@odata.id'], byId].map((link) => link?.trim());
  const paths = links.map((link) => (link ? ownPath(link, origin) : undefined));
  // what is above a session is none
  return paths.find((path) => path !== undefined && !`${collection}/`.startsWith(`${barePath(path)}/`));
}

interface EndOptions {
  readonly log: Log;
  readonly sessions?: SessionRecord | undefined;
}

/** Ends one client's sessions that are not used any more. No failure of it is thrown. */
export function createEndings(transport: Transport, options: EndOptions) {
  let ending: Promise<void> = Promise.resolve();
  /** Sessions that their own token did not end. */
  const replaced = new Set<BmcSession>();
  const follow = (work: Promise<void>): void => void (ending = ending.then(() => work));
  const end = async (session: Session): Promise<void> => {
    if (!(await endSession(session, transport, options)) && session.place) replaced.add(session.place);
  };
  return {
    end: (session: Session): void => follow(end(session)),
    /** Ends what is left of others by the token of this one. */
    endReplacedBy: (made: Session): void => {
      const old = [...replaced];
      replaced.clear();
      for (const place of old) follow(endReplaced(place, made, transport, options));
    },
    /** Waits for all that have begun. */
    settled: (): Promise<void> => ending,
  };
}

/**
 * Ends a session by its own token, and answers whether the BMC no longer has it. A session that the BMC does not know or
 * does not let go stays on record as left: a BMC whose login fails for a moment answers 401, too.
 */
async function endSession(
  { place, token }: Session,
  transport: Transport,
  { log, sessions }: EndOptions,
): Promise<boolean> {
  if (!place) return true;
  const status = await remove(place, token, transport, log);
  const isEnded = status !== undefined && status < 500 && ![401, 403].includes(status);
  await (isEnded ? sessions?.ended(place) : sessions?.left(place));
  return isEnded;
}

/**
 * Ends a session by the token of the one that has taken its place, where the BMC still shows it as the same account's: one
 * that was restarted gives its ids again. What can't be ended now stays on record.
 */
async function endReplaced(
  place: BmcSession,
  by: Session,
  transport: Transport,
  { log, sessions }: EndOptions,
): Promise<void> {
  if (place.path === by.place?.path) return;
  const { path, username } = place;
  const headers = { 'x-auth-token': by.token };
  try {
    const shown = await transport.send({ method: 'GET', path, headers, signal: AbortSignal.timeout(timeoutMs) });
    if ([404, 410].includes(shown.status)) return await sessions?.ended(place);
    const owner = LoginSession.safeParse(shown.body).data?.UserName;
    if (shown.status !== 200 || !owner) return;
    if (owner.toLowerCase() === username.toLowerCase()) {
      const status = await remove(place, by.token, transport, log);
      if (status === undefined || (status >= 300 && status !== 404)) return;
    }
    await sessions?.ended(place);
  } catch (error) {
    log.debug({ err: error, bmc: place.origin }, 'the session of before could not be looked at');
  }
}

async function remove(
  { origin, path }: BmcSession,
  token: string,
  transport: Transport,
  log: Log,
): Promise<number | undefined> {
  const headers = { 'x-auth-token': token };
  try {
    return (await transport.send({ method: 'DELETE', path, headers, signal: AbortSignal.timeout(timeoutMs) })).status;
  } catch (error) {
    log.debug({ err: error, bmc: origin }, 'Redfish session could not be ended');
    return undefined;
  }
}
