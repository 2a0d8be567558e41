import { type ErrorCode, errorCodes } from '#shared/errors/error-codes.ts';
import { type Fault, isSituation, type Situation } from '#shared/errors/fault-codes.ts';
import { maskUrlLogins } from '#shared/url-logins.ts';

export { type ErrorCode, errorCodes };

/** Codes whose cause usually passes by itself: the same call may succeed later. */
const retryableCodes: ReadonlySet<ErrorCode> = new Set(['busy', 'node_locked', 'unavailable', 'timeout']);

export interface AppErrorOptions {
  readonly cause?: unknown;
  /** Overrides the default that follows from the code. */
  readonly retryable?: boolean;
  /** Values for logs and API answers; never secrets. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** Situation that it is for an operator, where it is more than the code says. */
  readonly situation?: Situation | undefined;
  /** The one thing that it is about, `/dev/sda`, `leaf1`; never a secret. */
  readonly subject?: string | undefined;
}

/**
 * Every expected failure. The message says what *this* layer tried and never repeats its cause:
 * `errorChain` joins the two.
 */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;
  readonly situation: Situation | undefined;
  readonly subject: string | undefined;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = options.retryable ?? retryableCodes.has(code);
    this.details = options.details ?? {};
    this.situation = options.situation;
    this.subject = options.subject;
  }
}

/**
 * Returns the cause chain as one line, outermost first: `write image: open /dev/vda: device is mounted`. It is logged,
 * stored and answered: logins in URLs are masked.
 */
export function errorChain(error: unknown): string {
  const parts: string[] = [];
  let current: unknown = error;
  while (current !== undefined && current !== null && parts.length < 10) {
    parts.push(messageOf(current));
    current = current instanceof Error ? current.cause : undefined;
  }
  const text = parts.filter((part, index) => part !== '' && part !== parts[index - 1]).join(': ');
  return maskUrlLogins(text).replaceAll('\u0000', '\uFFFD'); // PostgreSQL can't store it, and a failure must be recorded
}

/** Returns whether trying again later may help; unknown errors are not retryable. */
export function isRetryable(error: unknown): boolean {
  return error instanceof AppError && error.retryable;
}

/** Returns the code of an error, looking through causes for the first `AppError`. */
export function errorCode(error: unknown): ErrorCode {
  let current: unknown = error;
  while (current instanceof Error) {
    if (current instanceof AppError) return current.code;
    current = current.cause;
  }
  return 'internal';
}

/** Finds what the error is for an operator: the first situation and the first subject of its chain, else its code. */
export function faultOf(error: unknown): Fault {
  const { situation, subject } = chained(error);
  const code = situation ?? errorCode(error);
  return subject === undefined ? { code } : { code, subject };
}

function chained(error: unknown): Pick<AppErrorOptions, 'situation' | 'subject'> {
  const found: { situation?: Situation | undefined; subject?: string | undefined } = {};
  for (let current = error; current instanceof Error; current = current.cause) {
    if (!(current instanceof AppError)) continue;
    found.situation ??= current.situation;
    found.subject ??= current.subject;
  }
  return found;
}

/** Makes the same error with a situation and a subject, where its chain has none; another's error is returned as it is. */
export function inSituation(error: unknown, { code, subject }: Fault): unknown {
  if (!(error instanceof AppError)) return error;
  const { situation, subject: known } = chained(error);
  const { message, retryable, details, cause, stack } = error;
  const named = situation ?? (isSituation(code) ? code : undefined);
  if (named === situation && (known ?? subject) === known) return error;
  const same = new AppError(error.code, message, {
    ...(cause === undefined ? {} : { cause }),
    retryable,
    details,
    situation: named,
    subject: known ?? subject,
  });
  if (stack !== undefined) same.stack = stack;
  return same;
}

/** Returns the stack of an error without its message, which may carry secrets that must not be logged. */
export function stackFrames(error: Error): string {
  return (error.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n');
}

/** Recognizes drizzle's error of a query, whose message has the query's parameters, passwords among them. */
function isFailedQuery(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'query' in error && 'params' in error;
}

function messageOf(error: unknown): string {
  if (isFailedQuery(error)) return 'database query failed';
  if (error instanceof AggregateError && error.errors.length > 0) {
    // Node's connect errors come as an AggregateError with an empty message
    return error.message || error.errors.map((each: unknown) => messageOf(each)).join('; ');
  }
  // of a certificate that can't be verified Node says how Node is started
  if (error instanceof Error)
    return error.message.replace(/; if the root CA is installed locally, .*/, '') || error.name;
  return typeof error === 'string' ? error : JSON.stringify(error);
}
