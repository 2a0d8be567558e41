import { createSecureContext, type SecureVersion } from 'node:tls';
import { AppError } from '#shared/errors/app-error.ts';

/** How a BMC is talked to over TLS. */
export interface BmcTls {
  /** `false`: any certificate; `true`: one that the system's authorities signed; PEM: one that these signed. */
  readonly verifyCa: boolean | string;
  /** Default: Node's, which is TLS 1.2. */
  readonly minVersion?: SecureVersion | undefined;
  /** In OpenSSL's words; default: Node's. */
  readonly ciphers?: string | undefined;
}

/** Gives the options of a socket. */
export function tlsOptions({ verifyCa, minVersion, ciphers }: BmcTls): {
  readonly rejectUnauthorized: boolean;
  readonly ca?: string;
  readonly minVersion?: SecureVersion;
  readonly ciphers?: string;
} {
  return {
    rejectUnauthorized: verifyCa !== false,
    ...(typeof verifyCa === 'string' ? { ca: verifyCa } : {}),
    ...(minVersion === undefined ? {} : { minVersion }),
    ...(ciphers === undefined ? {} : { ciphers }),
  };
}

/** The versions that Ironic takes. */
export const tlsVersions = ['1.1', '1.2', '1.3'] as const;

/** @throws AppError `invalid_argument` for words that select nothing, or that OpenSSL doesn't know */
export function requireCiphers(ciphers: string): string {
  try {
    createSecureContext({ ciphers });
    return ciphers;
  } catch (cause) {
    const words = 'must be a list in the words of OpenSSL that selects something, such as ECDHE+AESGCM';
    throw new AppError('invalid_argument', `driver_info for redfish: redfish_tls_ciphers: ${words}`, { cause });
  }
}
