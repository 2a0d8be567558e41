import { z } from 'zod';
import { AppError, type ErrorCode } from '#shared/errors/app-error.ts';

const codes: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid_argument',
  401: 'forbidden',
  403: 'forbidden',
  405: 'not_supported',
  409: 'conflict',
  410: 'conflict',
  422: 'invalid_argument',
  429: 'busy',
};

/** `meta/v1.Status`, as far as it is read. */
const Status = z.looseObject({
  kind: z.string().optional(),
  message: z.string().optional(),
  reason: z.string().optional(),
  details: z
    .looseObject({
      name: z.string().optional(),
      kind: z.string().optional(),
      causes: z.array(z.looseObject({ reason: z.string().optional(), message: z.string().optional() })).optional(),
    })
    .optional(),
});

export interface RefusalCause {
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

/** The object that a 404 says there is not. */
export interface AbsentObject {
  /** The kind as in paths: `nodes`. */
  readonly kind: string;
  readonly name: string;
}

/**
 * Returns the API server's refusal as an error: what was asked, and the server's own words as its cause. A 404 is
 * `not_found` only when it names an object of the path: whatever stands before the server, or a wrong path, answers 404 to
 * everything.
 * @param path as asked for, names encoded
 */
export function refusalOf(what: string, path: string, status: number, body: unknown): AppError {
  const parsed = Status.safeParse(body);
  const { kind, message, reason, details } = parsed.success ? parsed.data : {};
  const text = message ?? (typeof body === 'string' ? body.trim().slice(0, 500) : '');
  if (status === 404) {
    const absent = { kind: details?.kind ?? '', name: details?.name ?? '' };
    const isOfPath = `${path}/`.includes(`/${absent.kind}/${encodeURIComponent(absent.name)}/`);
    if (kind !== 'Status' || reason !== 'NotFound' || !isOfPath) {
      const answered = text === '' ? 'nothing more' : JSON.stringify(text);
      return new AppError(
        'unavailable',
        `${what}: HTTP 404, which does not say what there is not: something else than the API server may have ` +
          `answered, or the path in the kubeconfig's server is wrong. It said: ${answered}`,
        { details: { status, reason } },
      );
    }
    return new AppError('not_found', `${what}: HTTP 404`, {
      ...(text === '' ? {} : { cause: new Error(text) }),
      details: { status, reason, absent },
    });
  }
  // redirects are not followed: something else than the API server answers
  const isRequest = status >= 400 && status < 500;
  return new AppError(codes[status] ?? (isRequest ? 'command_failed' : 'unavailable'), `${what}: HTTP ${status}`, {
    ...(text === '' ? {} : { cause: new Error(text) }),
    // a conflict is somebody else's change in between, 410 a list that lasted too long: the next look sees what is
    ...(status === 409 || status === 410 ? { retryable: true } : {}),
    details: { status, reason, causes: details?.causes ?? [] },
  });
}

/** Returns whether the error says that there is no such object. */
export function isAbsent(error: unknown, { kind, name }: AbsentObject): boolean {
  if (!(error instanceof AppError) || error.code !== 'not_found') return false;
  const { absent } = error.details;
  if (typeof absent !== 'object' || absent === null) return false;
  return Reflect.get(absent, 'kind') === kind && Reflect.get(absent, 'name') === name;
}

/**
 * Returns whether the way in was refused: the kubeconfig, the login, or the API server that knows no such user. Kubeconfigs
 * are rewritten, plugins have their bad moments, and API servers answer 401 and 403 for a while after a start.
 */
export function isAccessFault(error: AppError): boolean {
  const { status, access } = error.details;
  return status === 401 || status === 403 || access === true;
}

/** Returns the causes that the server gave with a refusal, such as the budget that forbids an eviction. */
export function causesOf(error: AppError): readonly RefusalCause[] {
  const { causes } = error.details;
  return Array.isArray(causes) ? (causes as readonly RefusalCause[]) : [];
}
