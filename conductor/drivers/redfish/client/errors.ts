import { ownPath } from '#conductor/drivers/redfish/client/own-path.ts';
import { ErrorBody, ExtendedInfos, OldError } from '#conductor/drivers/redfish/client/schemas.ts';
import { AppError, errorCode, isRetryable } from '#shared/errors/app-error.ts';

const maxText = 500;

/** Pattern of `error.message` where the words are elsewhere: `See @Message.ExtendedInfo for more information.` */
const pointsElsewhere = /ExtendedInfo/;

/**
 * The BMC's own words from an error body (DSP0266, error responses): extended messages where they have words, else the
 * error's message, else what identifies them. Of what is not Redfish error nothing is repeated: the server may be none
 * that the caller of the API should read.
 */
export function bmcMessage(body: unknown): string {
  const error = errorIn(body);
  if (!error) return '';
  const { infos: extended } = error;
  const words = joined(extended.map(({ Message: message }) => message));
  const own = error.message && !pointsElsewhere.test(error.message) ? error.message : '';
  const ids = joined(extended.map((info) => [info.MessageId, ...(info.MessageArgs ?? [])].join(' ')));
  return withoutImages(words || own || ids || error.message || error.code || '').slice(0, maxText);
}

/** A BMC's words without what they repeat of an image's address by which it could be fetched: a boot's has its token. */
export function withoutImages(text: string): string {
  return text.replaceAll(/(?<=\/)[\w-]{40,}/g, '******');
}

/**
 * Reads an error body's parts. OpenBMC answers messages about a property alone, as annotations of it, without an error; iLO 4
 * has `Messages` beside the error or in its place.
 */
export function errorIn(body: unknown) {
  const error = ErrorBody.safeParse(body).data?.error;
  const annotations = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  const about = annotations.flatMap(([key, value]) => {
    const name = /^(\w+)@Message\.ExtendedInfo$/.exec(key)?.[1];
    const infos = name === undefined ? undefined : (ExtendedInfos.parse(value) ?? undefined);
    return infos?.map((info) => ({ ...info, RelatedProperties: [...(info.RelatedProperties ?? []), name] })) ?? [];
  });
  const old = OldError.safeParse(body);
  if (!error && about.length === 0 && !old.success) return undefined;
  const { code, message, '@Message.ExtendedInfo': own } = error ?? {};
  return { code, message, infos: [...(own ?? []), ...about, ...(old.success ? old.data.Messages : [])] };
}

function joined(texts: readonly (string | null | undefined)[]): string {
  return [...new Set(texts.filter(Boolean))].join(' ');
}

/**
 * Message ids by which BMCs say that the same request may succeed in a while, whatever the method and the status; and how
 * often it is repeated where the answer may also mean that there is nothing to do.
 */
export const laterIds: readonly { readonly id: string; readonly tries: number }[] = [
  // HPE: the host's firmware holds what was to be changed while it powers on
  { id: 'UnableToModifyDuringSystemPOST', tries: Number.POSITIVE_INFINITY },
  // HPE iLO, also for power on of a machine that is on (sushy, storyboard 2007923)
  { id: 'InvalidOperationForSystemState', tries: 3 },
  // Dell iDRAC: the Lifecycle Controller is not ready (sushy's release notes)
  { id: 'SYS518', tries: Number.POSITIVE_INFINITY },
  // Dell iDRAC 10: power on, for up to a minute after power off (Ironic, bug 2162995)
  { id: 'ActionParameterValueConflict', tries: 8 },
  // AMI MegaRAC (its registry): the host starts, or other requests and images are at work
  { id: 'ServiceTemporarilyUnavailableDueToHostBooting', tries: Number.POSITIVE_INFINITY },
  { id: 'ServiceTemporarilyUnavailableDueToMutex', tries: Number.POSITIVE_INFINITY },
  { id: 'MaximumLimitReachedForResource', tries: Number.POSITIVE_INFINITY },
  { id: 'TaskInRunningState', tries: Number.POSITIVE_INFINITY },
  // the same by a task that may be of the request itself
  { id: 'AlreadyRunningTask', tries: 3 },
  { id: 'TaskAlreadyExists', tries: 3 },
  // DMTF's Base registry; what is in use may be in transition, or be another's for good
  { id: 'ServiceTemporarilyUnavailable', tries: Number.POSITIVE_INFINITY },
  { id: 'ServiceShuttingDown', tries: Number.POSITIVE_INFINITY },
  { id: 'ResourceInUse', tries: 3 },
];

/** How often a request that was refused so is to be repeated; `undefined` for a refusal that is final. */
export function triesLater(status: number, body: unknown): number | undefined {
  const error = errorIn(body);
  if (status < 400 || !error) return undefined;
  // `IDRAC.2.8.SYS518`: registry, version, id
  const ids = [error.code, ...error.infos.map((info) => info.MessageId)].map((each) => each?.split('.').at(-1));
  const found = laterIds.filter(({ id }) => ids.includes(id));
  return found.length === 0 ? undefined : Math.min(...found.map(({ tries }) => tries));
}

/** Names of properties and parameters in an error body, among other words that begin with a capital letter. */
function namesIn(body: unknown): readonly string[] {
  const { message, infos = [] } = errorIn(body) ?? {};
  const texts = infos.flatMap((info) => [info.Message, ...(info.MessageArgs ?? []), ...(info.RelatedProperties ?? [])]);
  const words = [message, ...texts].flatMap((text) => text?.match(/\b[A-Z][A-Za-z]+\b/g) ?? []);
  return [...new Set(words)];
}

/**
 * The error for an HTTP status: `unavailable` when the BMC is busy or behind a broken proxy, else `bmc_error`;
 * `details.status` holds the status, `details.names` what properties and parameters the BMC named.
 */
export function statusError(
  what: string,
  status: number,
  {
    body,
    username,
    isPassing = false,
    isLoginTaken = false,
  }: {
    readonly body: unknown;
    readonly username: string | undefined;
    /** Whether another try may help in a while. */
    readonly isPassing?: boolean;
    /** Whether the BMC takes the same login for something else. */
    readonly isLoginTaken?: boolean;
  },
): AppError {
  const text = bmcMessage(body);
  const login =
    username === undefined ? 'driver_info has no redfish_username' : 'redfish_username or redfish_password is wrong';
  const isOfLogin = status === 401 && !isLoginTaken;
  const rights = 'redfish_username may lack the right to it: the BMC takes its login for others';
  const hint = isLoginTaken ? ` (${rights})` : isOfLogin ? ` (${login})` : hintOf(body);
  const message = `${what} answered ${status}${hint}${text === '' ? '' : `: ${text}`}`;
  const busy = [429, 502, 503, 504].includes(status);
  return new AppError(busy ? 'unavailable' : 'bmc_error', message, {
    situation: isOfLogin ? 'bmc_login' : busy ? 'bmc_busy' : 'bmc_refused',
    retryable: busy || isPassing,
    details: { status, names: namesIn(body), place: futureStateUri(body) },
  });
}

/** Pattern of the ids by which BMCs refuse a login for want of room: DMTF's Base registry, and iDRAC's. */
const noRoom = /\b(SessionLimitExceeded|CreateLimitReachedForResource|RAC0218)$/;

/** Gives what an operator can do about a refusal whose words don't say so. */
function hintOf(body: unknown): string {
  const infos = errorIn(body)?.infos ?? [];
  const isJob = infos.some(({ MessageId: id }) => id?.endsWith('.SYS011'));
  const deleted = "the idrac driver's step management.clear_job_queue deletes it";
  if (isJob) return ` (a job of before waits for the machine's next reset; ${deleted})`;
  const isFull = infos.some(({ MessageId: id }) => noRoom.test(id ?? ''));
  return isFull ? ' (all sessions of the BMC are in use: end some there, or wait until it ends them)' : '';
}

/** Finds the URI in AMI's refusal to change a resource whose coming state is another one, which it names. */
function futureStateUri(body: unknown): string | undefined {
  const infos = errorIn(body)?.infos ?? [];
  const info = infos.find(({ MessageId: id }) => id?.endsWith('.OperationSupportedInFutureStateURI'));
  const named = /FutureState URI\s*\(([^()\s]+)\)/.exec(info?.Message ?? '')?.[1];
  return named ?? info?.MessageArgs?.find((arg) => /^(https?:\/)?\//.test(arg));
}

/** Whether a BMC says with what it has taken that it holds after a reset (HPE's `SystemResetRequired`, DMTF's `ResetRequired`). */
export function asksForReset(body: unknown): boolean {
  const infos = errorIn(body)?.infos ?? [];
  return infos.some(({ MessageId: id }) => /\.\w*(Reset|Reboot)Required$/.test(id ?? ''));
}

/** The path, on this BMC, of the resource that a refusal names in its place. */
export function placeNamedBy(error: unknown, origin: string): string | undefined {
  const place = error instanceof AppError ? error.details['place'] : undefined;
  const path = typeof place === 'string' ? ownPath(place, origin) : undefined;
  return path?.startsWith('/redfish/') ? path : undefined;
}

/** Runs `act`; its error becomes one of `what`, with the same code and itself as the cause. */
export async function underTitle<T>(what: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (cause) {
    throw new AppError(errorCode(cause), what, { cause, retryable: isRetryable(cause) });
  }
}

/** Whether the BMC refuses the login itself, not what the login may do. */
export function isLoginRefused(error: unknown): boolean {
  return error instanceof AppError && error.situation === 'bmc_login';
}

/** The HTTP status behind an error of the Redfish client, if it was one. */
export function httpStatusOf(error: unknown): number | undefined {
  const status = error instanceof AppError ? error.details['status'] : undefined;
  return typeof status === 'number' ? status : undefined;
}

/** Lists the properties and parameters that the BMC named when it refused, among other words. */
export function namesOf(error: unknown): ReadonlySet<string> {
  const names = error instanceof AppError ? error.details['names'] : undefined;
  return new Set(Array.isArray(names) ? (names as string[]) : []);
}

/** Statuses of BMCs' answers to a property or a value that they do not have. */
const refusals = [400, 409, 422, 501];

/** Whether the BMC has said that it does not do what it was asked for; what it did all the same is to be looked at. */
export function isRefusal(error: unknown): boolean {
  const status = httpStatusOf(error);
  // without a status: its task has failed
  if (status === undefined) return error instanceof AppError && error.code === 'bmc_error';
  return [...refusals, 404, 405, 500].includes(status);
}

/**
 * Sends the requests in turn, the next one to a BMC that refuses the one before.
 * @throws AppError with the words of the first refusal: that was of what the standard has
 */
export async function firstTaken<Ask, Answer>(
  asks: readonly Ask[],
  send: (ask: Ask) => Promise<Answer>,
): Promise<Answer> {
  let refusal: unknown;
  for (const ask of asks) {
    try {
      return await send(ask);
    } catch (error) {
      if (!refusals.includes(httpStatusOf(error) ?? 0)) throw error;
      refusal ??= error;
    }
  }
  throw refusal;
}
