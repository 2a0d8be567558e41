import type { IncomingMessage } from 'node:http';
import type { Context } from 'hono';
import { sourceKey } from '#conductor/auth/failure-limit.ts';
import type { ApiEnv } from '#conductor/http/api-app.ts';
import { applicationFault } from '#conductor/http/fault.ts';

/** `undefined` in process. */
export function addressOf(c: Context): string | undefined {
  const { incoming } = (c.env ?? {}) as { readonly incoming?: IncomingMessage };
  return incoming?.socket.remoteAddress;
}

/** Under what callers are counted: their address. */
export function sourceOf(c: Context): string {
  return sourceKey(addressOf(c));
}

export function tooMany(c: Context<ApiEnv>, waitSeconds: number): Response {
  c.header('Retry-After', String(waitSeconds));
  return applicationFault(c, 429, `Too many requests from your address have failed; try again in ${waitSeconds} s.`);
}
