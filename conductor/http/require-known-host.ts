import type { Context } from 'hono';
import type { AuthConfig } from '#conductor/auth/auth-settings.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * For APIs where nobody proves who they are. A page of another site may have made its own name lead here (DNS rebinding):
 * a browser then takes the API for that site's, and sends no `Origin`. And what a proxy passes on comes from this host
 * whoever sent it.
 * @throws AppError `forbidden` naming the header.
 */
export function requireKnownHost(
  c: Pick<Context, 'req'>,
  { publicUrl, auth }: { readonly publicUrl: string; readonly auth: Pick<AuthConfig, 'allowUnauthenticated'> },
): void {
  const host = c.req.header('host');
  // load balancers ask by HTTP/1.0 without one, browsers never
  if (host !== undefined && !isLiteralHost(host) && host.toLowerCase() !== new URL(publicUrl).host) {
    throw new AppError(
      'forbidden',
      `Requests for ${host} are refused (Host header): with BATON_AUTH=none it must be an address, localhost, or as in BATON_PUBLIC_URL.`,
    );
  }
  const proxied = ['forwarded', 'x-forwarded-for', 'x-real-ip'].find((name) => c.req.header(name) !== undefined);
  if (proxied !== undefined && !auth.allowUnauthenticated) {
    throw new AppError(
      'forbidden',
      `Requests that a proxy passes on (${proxied} header) are refused with BATON_AUTH=none, which is for this host's users.`,
    );
  }
}

/** An address; a name may have been made to lead here for a moment. */
export function isLiteralHost(host: string): boolean {
  return /^(localhost|\[[0-9a-f:.]+\]|\d+\.\d+\.\d+\.\d+)(:\d+)?$/i.test(host);
}
