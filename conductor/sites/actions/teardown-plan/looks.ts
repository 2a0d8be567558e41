import { AppError, errorChain } from '#shared/errors/app-error.ts';

/** An operator waits for it: what does not answer within it is told as such. Milliseconds. */
export const lookMs = 5_000;

/** What one kind of cluster, or one cluster, has of each node, by name. */
export interface Looks<What> {
  readonly nodes: ReadonlyMap<string, { readonly found: What; readonly wrong: readonly string[] }>;
  readonly wrong: readonly string[];
}

/** @throws what is nobody's silence */
export function whyNotAsked(error: unknown): string {
  if (error instanceof AppError) return errorChain(error);
  if (error instanceof DOMException && error.name === 'TimeoutError') return `no answer within ${lookMs / 1000} s`;
  throw error;
}
