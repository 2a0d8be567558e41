import type { CallOptions } from '#conductor/drivers/interfaces.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** The time a driver call may take, as a signal that covers its hanging I/O too. */
export interface CallDeadline {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** Joins the caller's signal and time limit; `defaultTimeoutMs` is the driver's limit for this call. */
export function callDeadline(options: CallOptions | undefined, defaultTimeoutMs: number): CallDeadline {
  const timeoutMs = options?.timeoutMs ?? defaultTimeoutMs;
  const limit = AbortSignal.timeout(timeoutMs);
  return { timeoutMs, signal: options?.signal ? AbortSignal.any([options.signal, limit]) : limit };
}

/** `timeout` when the deadline passed, `aborted` when the caller gave up; `what` is what was tried. */
export function stoppedError(signal: AbortSignal, what: string): AppError {
  const reason: unknown = signal.reason;
  if (reason instanceof DOMException && reason.name === 'TimeoutError') {
    return new AppError('timeout', `${what} took longer than allowed`);
  }
  return new AppError('aborted', `${what} was stopped`, { cause: reason });
}

/** A value of `driver_info` as text: numbers may come as either. Of what is neither, nothing. */
export function fieldText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}
