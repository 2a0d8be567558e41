import { AppError } from '#shared/errors/app-error.ts';

export interface SshEndpoint {
  readonly host: string;
  readonly port: number;
}

const forms = 'ssh:192.0.2.1, ssh:switch.example:2222 or ssh:[2001:db8::1]:22';

/** The port is 22 unless another is given. @throws AppError `invalid_argument` naming the right forms. */
export function parseSshEndpoint(endpoint: string): SshEndpoint {
  const match = /^ssh:(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s/@]+))(?::(\d{1,5}))?$/.exec(endpoint);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3] ?? 22);
  if (host !== undefined && port >= 1 && port <= 65_535) return { host, port };
  throw new AppError('invalid_argument', `switch endpoint ${endpoint} is not of the form ${forms}`);
}
