import { z } from 'zod';
import { AppError, type ErrorCode } from '#shared/errors/app-error.ts';

const codes: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid_argument',
  401: 'forbidden',
  403: 'forbidden',
  404: 'not_found',
  405: 'not_supported',
  409: 'conflict',
  410: 'conflict',
  422: 'invalid_argument',
  429: 'busy',
};

/** `meta/v1.Status`, as far as it is read. */
const Status = z.looseObject({
  message: z.string().optional(),
  reason: z.string().optional(),
  details: z
    .looseObject({
      causes: z.array(z.looseObject({ reason: z.string().optional(), message: z.string().optional() })).optional(),
    })
    .optional(),
});

export interface RefusalCause {
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
}

/** The API server's refusal as an error: what was asked, and the server's own words as its cause. */
export function refusalOf(what: string, status: number, body: unknown): AppError {
  const parsed = Status.safeParse(body);
  const { message, reason, details } = parsed.success ? parsed.data : {};
  const text = message ?? (typeof body === 'string' ? body.slice(0, 500) : '');
  return new AppError(codes[status] ?? (status >= 500 ? 'unavailable' : 'internal'), `${what}: HTTP ${status}`, {
    ...(text === '' ? {} : { cause: new Error(text) }),
    // a conflict is somebody else's change in between: the next look sees it
    ...(status === 409 ? { retryable: true } : {}),
    details: { status, reason, causes: details?.causes ?? [] },
  });
}

/** The causes that the server gave with a refusal, such as the budget that forbids an eviction. */
export function causesOf(error: AppError): readonly RefusalCause[] {
  const { causes } = error.details;
  return Array.isArray(causes) ? (causes as readonly RefusalCause[]) : [];
}
