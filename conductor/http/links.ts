import type { Context } from 'hono';
import type { ApiEnv } from '#conductor/http/api-app.ts';

export interface Link {
  readonly href: string;
  readonly rel: string;
}

/** What the addresses in answers begin with: the API's public URL where it is set, else what the client wrote. */
export function originOf(c: Context<ApiEnv>): string {
  return c.get('apiUrl') ?? new URL(c.req.url).origin;
}

/** Each that means this service. */
export function originsOf(c: Context<ApiEnv>): string[] {
  return [originOf(c), new URL(c.req.url).origin];
}

/** Ironic's pair: the versioned address and the one without `/v1`. */
export function linksTo(origin: string, path: string): Link[] {
  return [
    { href: `${origin}/v1/${path}`, rel: 'self' },
    { href: `${origin}/${path}`, rel: 'bookmark' },
  ];
}
