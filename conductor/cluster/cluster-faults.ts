import type { RoundMessage } from '#conductor/cluster/repeat-rounds.ts';
import { remarkOf } from '#conductor/model/remarks/remark.ts';
import { AppError, isRetryable } from '#shared/errors/app-error.ts';

/** Returns whether a connection has failed for a server's certificate: waiting would not mend that. */
export function isUntrusted(cause: unknown): boolean {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return /SELF_SIGNED|UNABLE_TO_|^CERT_|ALTNAME/.test(code);
}

/** Returns whether it is the error of `readNode` for a node that the Kubernetes cluster has not. */
export function isUnknownNode(error: unknown): boolean {
  return error instanceof AppError && error.code === 'not_found' && remarkOf(error)?.code === 'unknown-in-cluster';
}

/** Gives the messages of what rounds had found until the error ended them. */
export function messagesOf({ details }: AppError): readonly RoundMessage[] {
  return Array.isArray(details['messages']) ? (details['messages'] as readonly RoundMessage[]) : [];
}

/**
 * Returns the error that a step of seed 001 answers with, whatever ended it.
 * @param what `teardown of n1`
 * @param reason the seed's, for every failure that has none of its own: `DrainNodeError`
 */
export function asStepFailure(error: unknown, what: string, reason: string): unknown {
  if (!(error instanceof AppError) || isUnknownNode(error) || error.details['refusal'] === true) return error;
  const { code, details } = error;
  if (code === 'aborted') return new AppError('unavailable', what, { cause: error, details });
  return new AppError('command_failed', what, {
    cause: error,
    retryable: isRetryable(error),
    details: { reason, messages: messagesOf(error) },
  });
}
