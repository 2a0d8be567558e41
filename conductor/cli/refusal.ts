import type { ClientSettings } from '#conductor/cli/client-settings.ts';
import { readFault } from '#conductor/cli/read-fault.ts';
import { renderRefusal } from '#conductor/cli/render-status.ts';
import { AppError, type ErrorCode } from '#shared/errors/app-error.ts';

const codes: Readonly<Partial<Record<number, ErrorCode>>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  406: 'not_acceptable',
  409: 'conflict',
  // a proxy without a conductor behind it, one that can't just now, and one that has given up waiting
  502: 'unavailable',
  503: 'unavailable',
  504: 'unavailable',
};

function credentialAdvice(authorization: string | undefined): string {
  if (authorization === undefined) {
    return 'it asks who you are: set BATON_TOKEN or BATON_TOKEN_FILE, or BATON_USERNAME and BATON_PASSWORD';
  }
  if (!authorization.startsWith('Bearer ')) return 'it does not know this user and password';
  return 'it does not know this token: that of BATON_TOKEN, which wins over BATON_TOKEN_FILE';
}

/** What the conductor has answered in place of what was asked for, in its own words. */
export function refusal(status: number, text: string, { authorization }: ClientSettings): AppError {
  const fault = readFault(text);
  const words = renderRefusal(text) ?? fault.message ?? `${status}: ${text}`;
  const message = status === 401 ? `${words}\n→ ${credentialAdvice(authorization)}` : words;
  const code = fault.code ?? codes[status] ?? (status >= 500 ? 'command_failed' : 'invalid_argument');
  // whoever watches looks once more, also at what a crash has answered
  return new AppError(code, message, { retryable: status >= 500, details: { status, cause: fault.cause } });
}
