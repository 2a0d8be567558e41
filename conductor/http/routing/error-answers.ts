import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { Status } from '#conductor/api/service.ts';
import type { RoundMessage } from '#conductor/cluster/repeat-rounds.ts';
import type { ApiEnv } from '#conductor/http/routing/api-env.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { databaseFaultClass, isWriteFault } from '#conductor/kernel/db/faults.ts';
import { countDatabaseFault } from '#conductor/kernel/metrics/metrics.ts';
import { type Remark, remarkOf } from '#conductor/model/remarks/remark.ts';
import type { SiteFault } from '#conductor/model/site/site-report.ts';
import { AppError, type ErrorCode, errorChain, stackFrames } from '#shared/errors/app-error.ts';

type StatusMessage = Status['details']['messageList'][number];

export interface StatusParts {
  readonly status: Status['status'];
  readonly code: ContentfulStatusCode;
  readonly message: string;
  /** One word, for programs; default: that of the code, `NotFound`. */
  readonly reason?: string | undefined;
  readonly faults?: readonly SiteFault[] | undefined;
  /** Messages on what a teardown did and met. */
  readonly messages?: readonly RoundMessage[] | undefined;
  readonly remark?: Remark | undefined;
  /** A code of what lies below the failure: `NoKubernetesCluster`, `NothingBegun`, `TimeUp`. */
  readonly cause?: string | undefined;
  readonly revision?: number | undefined;
  /** The same request may succeed later. */
  readonly retry?: boolean | undefined;
}

const reasons: Readonly<Record<number, string>> = {
  200: 'Success',
  201: 'Success',
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  413: 'PayloadTooLarge',
  415: 'UnsupportedMediaType',
  429: 'TooManyRequests',
  500: 'InternalError',
  502: 'BadGateway',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

/** A failure without messages of its own has one that repeats it: clients print the list. */
function statusObject(parts: StatusParts): Status {
  const { status, code, message, reason, faults = [], remark, cause, revision, retry } = parts;
  const reported = (parts.messages ?? []).map((each) => ({ kind: 'SimpleMessage', ...each }));
  const messages: StatusMessage[] = [...faults.map(validationMessage), ...reported];
  const isBare = status === 'Failure' && faults.length === 0 && !reported.some(({ error }) => error);
  const messageList: StatusMessage[] = isBare
    ? [...messages, { message, error: true, kind: 'SimpleMessage', summarized: true }]
    : messages;
  return {
    kind: 'Status',
    apiVersion: 'v1.0',
    metadata: {},
    status,
    message,
    reason: reason ?? reasons[code] ?? 'Error',
    details: {
      errorCount: messageList.filter(({ error }) => error).length,
      messageList,
      ...(remark === undefined ? {} : { remark }),
      ...(cause === undefined ? {} : { cause }),
      ...(revision === undefined ? {} : { revision }),
    },
    code,
    ...(retry === true ? { retry } : {}),
  };
}

/** Makes Shipyard's ValidationMessage, with the place in the document as our own `path`. */
function validationMessage({ level, name, message, document, path }: SiteFault): StatusMessage {
  return {
    message,
    error: level === 'Error',
    kind: 'ValidationMessage',
    level,
    name,
    documents: document ? [document] : [],
    path: path ?? null,
  };
}

/**
 * Paths of what of a node is torn down (seed 001), under Promenade's bare paths, among which Ironic has none of these
 * names.
 */
const teardownPath =
  /^\/(?:v1\/nodes\/[^/]+\/(?:decommission|drain|clear-labels|restore-labels|remove-etcd|shutdown-kubelet|remove-from-cluster)|etcd-cluster-health-statuses)$/;

/** Recognizes Airship's paths, whose errors are Status objects; errors of all others have Ironic's form. */
export function isAirshipPath(path: string): boolean {
  return path.startsWith('/api/') || teardownPath.test(path);
}

export function answerStatus<Code extends ContentfulStatusCode>(
  c: Context<ApiEnv>,
  parts: StatusParts & { readonly code: Code },
) {
  return c.json(statusObject(parts), parts.code);
}

/**
 * Answers with Ironic's error body: a JSON document as text inside a JSON document, which clients unpack twice
 * (ironic-api.md §1.3).
 */
function answer(c: Context<ApiEnv>, status: ContentfulStatusCode, inner: Record<string, unknown>): Response {
  return c.json({ error_message: JSON.stringify(inner) }, status);
}

/** Characters: no refusal repeats a body of its caller's to them. */
const longestText = 8_192;

/**
 * Returns an error of the application: the text is for the operator.
 * @param more what a Status object has beside it; Ironic's form has a place for the code alone, as a field of our own
 */
export function applicationFault(
  c: Context<ApiEnv>,
  status: ContentfulStatusCode,
  text: string,
  more: Pick<StatusParts, 'reason' | 'cause' | 'faults' | 'messages' | 'remark' | 'retry'> & {
    readonly code?: ErrorCode;
  } = {},
): Response {
  const message = text.length > longestText ? `${text.slice(0, longestText)}…` : text;
  if (isAirshipPath(c.req.path)) return answerStatus(c, { ...more, status: 'Failure', code: status, message });
  const faultcode = status < 500 ? 'Client' : 'Server';
  return answer(c, status, {
    faultcode,
    faultstring: message,
    debuginfo: null,
    ...(more.code === 'node_locked' ? { error_code: more.code } : {}),
  });
}

const titles: Readonly<Partial<Record<ContentfulStatusCode, string>>> = {
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
};

/** Returns an error that comes before any resource: no such path, no such version. */
export function frameworkFault(c: Context<ApiEnv>, status: 404 | 405 | 406, description: string): Response {
  if (isAirshipPath(c.req.path))
    return applicationFault(c, status, description || `${titles[status] ?? ''}: ${c.req.path}`);
  return answer(c, status, { code: status, title: titles[status], description });
}

/** HTTP status of each code (ironic-api.md §1.3). Clients try again by themselves on 409 and 503. */
const statusOfCode: Readonly<Record<ErrorCode, ContentfulStatusCode>> = {
  invalid_argument: 400,
  not_supported: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  not_acceptable: 406,
  conflict: 409,
  power_held: 409,
  node_locked: 409,
  lease_lost: 409,
  aborted: 409,
  version_mismatch: 409,
  busy: 503,
  unavailable: 503,
  bmc_error: 502,
  switch_error: 502,
  agent_error: 502,
  timeout: 504,
  command_failed: 500,
  image_error: 500,
  storage_error: 500,
  database_error: 503,
  internal: 500,
};

/** No connection, one that was cut (by the server: 57; after a pause: 25), one too many (53), or a deadlock (40): all pass. */
const passingDatabaseFaults: ReadonlySet<string> = new Set(['connection', '08', '25', '40', '53', '57']);

/**
 * Turns a request's errors into answers, here and nowhere else. Unexpected ones are logged whole and reported without
 * detail.
 */
export function answerError({
  log,
  metrics,
}: Pick<HttpContext, 'log' | 'metrics'>): (error: Error, c: Context<ApiEnv>) => Response {
  return (error, c) => {
    countDatabaseFault(metrics, error);
    if (error instanceof HTTPException) return applicationFault(c, error.status, describeRefusal(error, c));
    if (error instanceof AppError && error.code !== 'internal') {
      const status = statusOfCode[error.code];
      if (status >= 500) log.warn({ err: error, method: c.req.method, path: c.req.path }, 'request failed');
      return applicationFault(c, status, errorChain(error), statusDetails(error));
    }
    const requestId = c.get('requestId');
    if (hasHungUp(error)) {
      log.debug({ err: error, requestId, method: c.req.method, path: c.req.path }, 'the client hung up');
      return applicationFault(c, 400, 'The request ended before all of it was sent.');
    }
    // a full disk, or one that fails, lasts until somebody sees to it
    if (isWriteFault(error)) {
      log.error({ err: error, requestId, method: c.req.method, path: c.req.path }, 'the database refuses to write');
      return applicationFault(c, 503, 'The database refuses to write; `GET /readyz` says why.', { retry: true });
    }
    if (passingDatabaseFaults.has(databaseFaultClass(error) ?? '')) {
      log.error({ err: error, requestId, method: c.req.method, path: c.req.path }, 'the database does not answer');
      return applicationFault(c, 503, 'The database does not answer; please retry.', { retry: true });
    }
    log.error(
      { err: error, stack: stackFrames(error), requestId, method: c.req.method, path: c.req.path },
      'request crashed',
    );
    return applicationFault(c, 500, `Internal error; the conductor's log has it under request ${requestId}.`);
  };
}

/** Describes hono's refusal of a body whose type is not the route's JSON; hono's own message has two words. */
function describeRefusal({ status, message }: HTTPException, c: Context<ApiEnv>): string {
  if (status !== 415) return message;
  const given = c.req.header('content-type');
  return `The body has ${given === undefined ? 'no Content-Type' : `Content-Type ${given}`}; send it as application/json.`;
}

/**
 * Gives what an error of a site's API says beside its message: `details.reason`, `details.faults` of documents, and
 * `details.messages` of a teardown.
 */
function statusDetails(error: AppError): {
  readonly code: ErrorCode;
  readonly reason: string | undefined;
  readonly cause: string | undefined;
  readonly faults: readonly SiteFault[] | undefined;
  readonly messages: readonly RoundMessage[] | undefined;
  readonly remark: Remark | undefined;
  readonly retry: boolean;
} {
  const { reason, faults, messages } = error.details;
  return {
    code: error.code,
    cause: causeOf(error),
    reason: typeof reason === 'string' ? reason : undefined,
    faults: Array.isArray(faults) ? (faults as readonly SiteFault[]) : undefined,
    messages: Array.isArray(messages) ? (messages as readonly RoundMessage[]) : undefined,
    remark: remarkOf(error),
    retry: error.retryable,
  };
}

/** Finds `details.cause` among an error's causes, of the outermost that has one. */
function causeOf(error: unknown): string | undefined {
  if (!(error instanceof AppError)) return undefined;
  const { cause } = error.details;
  return typeof cause === 'string' ? cause : causeOf(error.cause);
}

/** Recognizes Node's error of a request that was cut; the database's errors carry more (`databaseFaultClass`). */
function hasHungUp(error: Error & { readonly code?: unknown }): boolean {
  const isCut =
    error.code === 'ECONNRESET' || error.code === 'ERR_STREAM_PREMATURE_CLOSE' || error.name === 'AbortError';
  return isCut && databaseFaultClass(error) === undefined;
}
