import type { ApiAnswer } from '#agent/api/api-client.ts';
import { faultText } from '#agent/api/fault-text.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Makes the error of a lookup that a conductor refuses: `conflict` (locked), `not_found`, `agent_error`. */
export function refusedLookup(answer: ApiAnswer, addresses: readonly string[]): AppError {
  const code = answer.status === 409 ? 'conflict' : answer.status === 404 ? 'not_found' : 'agent_error';
  return new AppError(code, `the conductor refused to look up ${addresses.join(', ')}: ${faultText(answer)}`);
}
