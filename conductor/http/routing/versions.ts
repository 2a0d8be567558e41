import type { MiddlewareHandler } from 'hono';
import { HTTPException } from 'hono/http-exception';
import type { ApiEnv } from '#conductor/http/routing/api-env.ts';
import { frameworkFault } from '#conductor/http/routing/error-answers.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Microversions 1.1 … (ironic-api.md §1.1, ironic-1.97-1.115.md): the newest is the last whose behaviour is all there. */
export const minimumMinor = 1;
export const maximumMinor = 115;

const legacyHeader = 'X-OpenStack-Ironic-API-Version';
const minimumHeader = 'X-OpenStack-Ironic-API-Minimum-Version';
const maximumHeader = 'X-OpenStack-Ironic-API-Maximum-Version';

export type Negotiation =
  | { readonly kind: 'agreed'; readonly minor: number }
  /** A version that does not exist here: the answer names the range, and clients negotiate down with it. */
  | { readonly kind: 'unsupported'; readonly reason: string }
  | { readonly kind: 'malformed'; readonly reason: string };

/** Returns the microversion to use. Texts are Ironic's. Pure. */
export function negotiateVersion(asked: string | undefined): Negotiation {
  if (asked === undefined || asked === '') return { kind: 'agreed', minor: minimumMinor };
  if (asked.toLowerCase() === 'latest') return { kind: 'agreed', minor: maximumMinor };
  const match = /^(\d+)\.(\d+)$/.exec(asked);
  if (!match) return { kind: 'malformed', reason: `Invalid value for ${legacyHeader} header` };
  const range = `The supported version range is: [1.${minimumMinor}, 1.${maximumMinor}].`;
  if (match[1] !== '1') {
    const reason = `Mutually exclusive versions requested. Version ${asked} requested but not supported by this service. ${range}`;
    return { kind: 'unsupported', reason };
  }
  const minor = Number(match[2]);
  if (minor >= minimumMinor && minor <= maximumMinor) return { kind: 'agreed', minor };
  const reason = `Version ${asked} was requested but the minor version is not supported by this service. ${range}`;
  return { kind: 'unsupported', reason };
}

/** Reads the version that the request asks for, in either header: `OpenStack-API-Version` may list several services. */
export function askedVersion(header: (name: string) => string | undefined): string | undefined {
  const standard = (header('OpenStack-API-Version') ?? '')
    .split(',')
    .map((entry) => entry.trim().split(/\s+/))
    .find(([service]) => service?.toLowerCase() === 'baremetal');
  return standard?.[1] ?? header(legacyHeader)?.trim();
}

/** Settles `version` for the handlers and puts the three headers on every answer, errors too. */
export const settleMicroversion: MiddlewareHandler<ApiEnv> = async (c, next) => {
  const outcome = negotiateVersion(askedVersion((name) => c.req.header(name)));
  if (outcome.kind !== 'agreed') {
    const fault = frameworkFault(c, 406, outcome.reason);
    if (outcome.kind === 'unsupported') addRange(fault.headers);
    return fault;
  }
  c.set('version', outcome.minor);
  await next();
  // not `c.header`, which copies the answer and its body each time
  const { headers } = c.res;
  addRange(headers);
  headers.set(legacyHeader, `1.${outcome.minor}`);
  return undefined;
};

function addRange(headers: Headers): void {
  headers.set(minimumHeader, `1.${minimumMinor}`);
  headers.set(maximumHeader, `1.${maximumMinor}`);
}

/** @throws AppError `not_found`: an endpoint that the version in use does not have is not there (404). */
export function requireEndpoint(version: number, since: number): void {
  if (version >= since) return;
  throw new AppError('not_found', `Not Found: it needs API version 1.${since}, the request uses 1.${version}.`);
}

/** @throws HTTPException 405: the version in use has no such method here. */
export function requireMethod(version: number, since: number): void {
  if (version >= since) return;
  throw notAllowed(`It needs API version 1.${since}.`);
}

export function notAllowed(why: string): HTTPException {
  return new HTTPException(405, { message: `The method is not allowed here. ${why}` });
}

/** @throws AppError `not_acceptable` (406) naming what is too new for the version in use. */
export function requireVersion(version: number, since: number, what: string): void {
  if (version >= since) return;
  throw new AppError(
    'not_acceptable',
    `Request not acceptable: ${what} needs API version 1.${since}, the request uses 1.${version}.`,
  );
}
