import { AppError } from '#shared/errors/app-error.ts';

/** Options for `net.connect`. */
export type OvsdbEndpoint = { readonly path: string } | { readonly host: string; readonly port: number };

const forms = 'unix:/run/openvswitch/db.sock, tcp:192.0.2.1:6640 or tcp:[2001:db8::1]:6640';

/** @throws AppError `invalid_argument` naming the right forms; `not_supported` for `ssl:`. */
export function parseOvsdbEndpoint(endpoint: string): OvsdbEndpoint {
  const unix = /^unix:(\/.+)$/.exec(endpoint);
  if (unix?.[1] !== undefined) return { path: unix[1] };
  const tcp = /^tcp:(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]+)):(\d{1,5})$/.exec(endpoint);
  const host = tcp?.[1] ?? tcp?.[2];
  const port = Number(tcp?.[3]);
  if (host !== undefined && port >= 1 && port <= 65_535) return { host, port };
  if (endpoint.startsWith('ssl:')) {
    throw new AppError('not_supported', `switch endpoint ${endpoint}: ssl is not supported; use ${forms}`);
  }
  throw new AppError('invalid_argument', `switch endpoint ${endpoint} is not of the form ${forms}`);
}
