import { z } from 'zod';
import { addressUrl } from '#conductor/drivers/address-url.ts';
import { fieldText } from '#conductor/drivers/call-deadline.ts';
import type { DriverField } from '#conductor/drivers/driver-definition.ts';
import { fieldFaultBy } from '#conductor/drivers/field-fault.ts';
import { type BmcTls, requireCiphers, tlsVersions } from '#conductor/drivers/redfish/client/bmc-tls.ts';
import { readAuthorities, systemAuthorities } from '#conductor/kernel/files.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { describeIssues } from '#shared/errors/describe-issues.ts';

/**
 * Whether a BMC verifies the certificate of the server that it fetches an image from: `undefined` = as it does by itself;
 * `true` by its own authorities; PEM certificates: by these.
 */
export type MediaTrust = boolean | readonly string[] | undefined;

/** How to reach one BMC; from a node's `driver_info`, with Ironic's keys. */
export interface RedfishConnection extends BmcTls {
  /** Scheme, host and port: `https://192.0.2.1`. */
  readonly origin: string;
  /** `undefined`: the only system that the BMC has. */
  readonly systemPath: string | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly authType: 'basic' | 'session' | 'auto';
  /** How it verifies the servers of images for virtual media. */
  readonly mediaTrust: MediaTrust;
  /** The fingerprint of the key that its SSH server shows: `SHA256:…` */
  readonly hostKey: string | undefined;
}

export const redfishFields: Readonly<Record<string, DriverField>> = {
  redfish_address: {
    meaning:
      'The URL of the Redfish service: scheme and authority. If the scheme is missing, HTTPS is assumed. Required.',
    site: { name: 'address', value: 'text' },
  },
  redfish_system_id: {
    meaning:
      'The canonical path of the ComputerSystem resource, such as /redfish/v1/Systems/1. Optional when the service has exactly one system.',
    site: { name: 'system_id', value: 'text' },
  },
  redfish_username: { meaning: 'User account with rights to control power and boot device. Optional.' },
  redfish_password: {
    meaning: 'User account password. Optional.',
    secret: {
      sentBy: [
        'redfish_address',
        'redfish_auth_type',
        'redfish_verify_ca',
        'redfish_tls_minimum_version',
        'redfish_tls_ciphers',
        'redfish_console_host_key',
      ],
    },
  },
  redfish_verify_ca: {
    meaning:
      'True to verify the certificate by the system authorities (default), False to accept any, or the path of a file or directory of authorities in PEM, below BATON_CA_DIR. Optional.',
    site: { name: 'verify_ca', value: 'true, false or a path' },
  },
  redfish_tls_minimum_version: {
    meaning: `The lowest TLS version to talk to the BMC by: one of ${tlsVersions.join(', ')}; default is 1.2. Optional.`,
  },
  redfish_tls_ciphers: {
    meaning:
      "The ciphers up to TLS 1.2, in OpenSSL's words; an old BMC may need DEFAULT@SECLEVEL=0. Default is Node's choice. Optional.",
  },
  redfish_console_host_key: {
    meaning:
      "The fingerprint of the BMC's SSH host key (SHA256:…), for consoles over SSH; without it any, where redfish_verify_ca is False. Optional.",
  },
  external_http_url: {
    meaning:
      'Where the BMC reaches this conductor for virtual media, such as https://192.0.2.9:6385; default BATON_PUBLIC_URL. Optional.',
  },
  virtual_media_verify_ca: {
    meaning:
      'Whether the BMC verifies the certificate of an HTTPS server that it fetches an image from: True by its own authorities, False not at all, or the path of a PEM file of authorities, below BATON_CA_DIR, that it is given; default: as the BMC does by itself. Optional.',
  },
  redfish_auth_type: {
    meaning: 'basic, session or auto (default): a session, or HTTP Basic where the service has none. Optional.',
    site: { name: 'auth_type', value: 'text' },
  },
};

const verifyCaError = 'must be true, false or the path of a file or directory of PEM certificates below BATON_CA_DIR';
const verifyCaSetting = z
  .union([z.boolean(), z.string()], { error: verifyCaError })
  .refine((value) => typeof value === 'boolean' || readWord(value) !== undefined || value.includes('/'), {
    error: verifyCaError,
  })
  .nullish();

const DriverInfo = z.looseObject({
  redfish_address: z
    .string({ error: 'is required: the URL of the Redfish service, such as https://192.0.2.1' })
    .transform((text, context) => {
      const origin = parseOrigin(text);
      if (origin !== undefined) return origin;
      const message = text.includes('%')
        ? "has a zone, which has no place in a URL: give the BMC's global address, or its name"
        : 'must be scheme and authority, such as https://192.0.2.1';
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    }),
  // another service at the address may be another machine's
  redfish_root_prefix: z
    .string()
    .regex(/^\/?redfish\/v1\/?$/, { error: 'must be /redfish/v1, where the standard has the service' })
    .nullish()
    .or(z.literal('')),
  redfish_system_id: z
    .string()
    .regex(/^\/(?![/\\])[^?#\s]+$/, { error: 'must be a path such as /redfish/v1/Systems/1' })
    .nullish(),
  redfish_username: z.string().nullish(),
  redfish_password: z.string().nullish(),
  redfish_verify_ca: verifyCaSetting,
  // as a number 1.2 is meant, too
  redfish_tls_minimum_version: z.coerce
    .string()
    .pipe(z.enum(tlsVersions, { error: `must be one of ${tlsVersions.join(', ')}` }))
    .nullish(),
  redfish_tls_ciphers: z.string({ error: "must be a list in OpenSSL's words" }).nullish(),
  virtual_media_verify_ca: verifyCaSetting,
  redfish_console_host_key: z
    .string()
    .regex(/^SHA256:[A-Za-z0-9+/]{43}$/, { error: 'must be a fingerprint such as SHA256:… of ssh-keygen -lf' })
    .nullish(),
  external_http_url: z
    .url({ protocol: /^https?$/, error: 'must be an http(s) URL such as https://192.0.2.9:6385' })
    .nullish(),
  redfish_auth_type: z
    .string()
    .transform((text) => text.toLowerCase())
    .pipe(z.enum(['basic', 'session', 'auto'], { error: 'must be basic, session or auto' }))
    .nullish(),
});

export const redfishFieldFault = fieldFaultBy(DriverInfo.shape);

/**
 * @param caDirectory below which `redfish_verify_ca` may name files
 * @throws AppError `invalid_argument` naming each bad or missing property.
 */
export function parseRedfishDriverInfo(
  driverInfo: Readonly<Record<string, unknown>>,
  caDirectory = systemAuthorities,
): RedfishConnection {
  const parsed = DriverInfo.safeParse(driverInfo);
  if (!parsed.success) {
    throw new AppError('invalid_argument', `driver_info for redfish: ${describeIssues(parsed.error)}`);
  }
  const info = parsed.data;
  const authType = info.redfish_auth_type ?? 'auto';
  const username = info.redfish_username ?? undefined;
  if (authType !== 'auto' && username === undefined) {
    throw new AppError(
      'invalid_argument',
      `driver_info for redfish: redfish_auth_type ${authType} needs redfish_username`,
    );
  }
  return {
    origin: info.redfish_address,
    systemPath: info.redfish_system_id?.replace(/\/$/, ''),
    username,
    password: info.redfish_password ?? undefined,
    authType,
    verifyCa: verifyCaOf(info.redfish_verify_ca ?? true, 'redfish_verify_ca', caDirectory),
    minVersion: info.redfish_tls_minimum_version ? `TLSv${info.redfish_tls_minimum_version}` : undefined,
    ciphers: info.redfish_tls_ciphers ? requireCiphers(info.redfish_tls_ciphers) : undefined,
    mediaTrust: mediaTrustOf(info.virtual_media_verify_ca ?? undefined, caDirectory),
    hostKey: info.redfish_console_host_key ?? undefined,
  };
}

/** A BMC keeps them, slot by slot. */
const maxMediaAuthorities = 10;

function parseOrigin(text: string): string | undefined {
  const url = URL.parse(addressUrl(text));
  if (!url) return undefined;
  const rest =
    url.pathname.replace(/^\/(redfish(\/v1)?\/?)?$/, '') + url.search + url.hash + url.username + url.password;
  return rest === '' && ['http:', 'https:'].includes(url.protocol) ? url.origin : undefined;
}

function verifyCaOf(value: boolean | string, field: string, caDirectory: string): boolean | string {
  if (typeof value === 'boolean') return value;
  return readWord(value) ?? readAuthorities(value.trim(), field, caDirectory);
}

function readWord(value: string): boolean | undefined {
  const word = value.trim().toLowerCase();
  if (['true', 'yes', 'on', '1'].includes(word)) return true;
  return ['false', 'no', 'off', '0'].includes(word) ? false : undefined;
}

function mediaTrustOf(value: boolean | string | undefined, caDirectory: string): MediaTrust {
  if (value === undefined) return undefined;
  const verifyCa = verifyCaOf(value, 'virtual_media_verify_ca', caDirectory);
  if (typeof verifyCa === 'boolean') return verifyCa;
  const all = verifyCa.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  if (all.length <= maxMediaAuthorities) return all;
  throw new AppError(
    'invalid_argument',
    `driver_info for redfish: virtual_media_verify_ca has ${all.length} certificates; BMCs have room for few: name a file with at most ${maxMediaAuthorities}`,
  );
}

/**
 * Checks what a site document says; files of authorities are another machine's, the user comes from the credential.
 * @throws AppError `invalid_argument`
 */
export function checkRedfishDocument({
  redfish_verify_ca: _authorities,
  virtual_media_verify_ca: _others,
  ...info
}: Readonly<Record<string, unknown>>): void {
  if (!isPlainUrl(info)) parseRedfishDriverInfo({ ...info, redfish_username: 'user' });
}

/** Recognizes an address that is right at a glance: the parser takes a tenth of the time that ten thousand nodes do. */
function isPlainUrl({ redfish_address: address, ...others }: Readonly<Record<string, unknown>>): boolean {
  const isUrl = typeof address === 'string' && /^https?:\/\/[a-z0-9.-]+(:\d{1,4})?$/.test(address);
  return isUrl && Object.keys(others).length === 0;
}

/** One BMC may manage several machines; their systems tell them apart. */
export function redfishMachine(driverInfo: Readonly<Record<string, unknown>>): string | undefined {
  const text = fieldText(driverInfo['redfish_address']).toLowerCase();
  const address = (parseOrigin(text) ?? text).replace(/^https:\/\//, '').replace(/\/+$/, '');
  if (address === '') return undefined;
  const system = fieldText(driverInfo['redfish_system_id']).replace(/\/+$/, '');
  return system === '' ? address : `${address} system ${system}`;
}
