import { AppError } from '#shared/errors/app-error.ts';

/**
 * The path and query of a link, for the BMC itself: one behind NAT writes its inner address into links. Requests carry the
 * login, and go to the configured address whatever host a link names. `undefined` for what is no link.
 * @param base absolute URL of the resource that has the link, or the BMC's origin
 */
export function ownPath(link: string, base: string): string | undefined {
  const url = URL.parse(link, base);
  if (!url || !/^https?:$/.test(url.protocol)) return undefined;
  // two slashes would name a host again
  return `/${url.pathname.replace(/^\/+/, '')}${url.search}`;
}

/** Cuts query and last slashes off a path, so that paths of one resource can be compared. */
export function barePath(path: string): string {
  return path.replace(/\?.*$/, '').replace(/\/+$/, '');
}

/** The name of a resource among its siblings: the last part of its path. */
export function idInPath(path: string): string {
  return path.replace(/\/$/, '').split('/').at(-1) ?? '';
}

/** @throws AppError `bmc_error` for what is no link */
export function requireOwnPath(link: string, origin: string): string {
  const path = ownPath(link, origin);
  if (path === undefined) throw new AppError('bmc_error', `the BMC at ${origin} names '${link}', which is no link`);
  return path;
}
