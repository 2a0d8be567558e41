import { join } from 'node:path';
import { z } from 'zod';
import { systemAuthorities } from '#conductor/kernel/files.ts';
import {
  type AddressRanges,
  isLoopbackHost,
  literalAddress,
  parseAddressRanges,
  urlHost,
} from '#shared/peers/address-ranges.ts';
import { type OutboundAllowList, type OutboundConfig, parseOutboundAllowList } from '#shared/peers/outbound-url.ts';

export const authMethods = ['none', 'http_basic', 'token'] as const;

const flag = z.enum(['true', 'false'], { error: 'must be true or false' }).transform((text) => text === 'true');
const port = z.coerce.number().int().min(1).max(65_535);

/** Settings of who may do what; part of the conductor's environment (`environment.ts`). */
export const authEnvironment = {
  BATON_AUTH: z
    .enum(authMethods, { error: 'must be none, http_basic or token' })
    .default('none')
    .describe(
      'how callers authenticate: `none` (only while listening on a loopback address), `http_basic` (users of an htpasswd file; tokens too) or `token`',
    ),
  BATON_ALLOW_UNAUTHENTICATED: flag
    .default(false)
    .describe('allow `BATON_AUTH=none` on other addresses: every client is an administrator'),
  BATON_HTPASSWD_FILE: z
    .string()
    .default('/etc/baton/htpasswd')
    .describe('users of `http_basic`, as `htpasswd -B` writes them'),
  BATON_ADMIN_TOKEN_FILE: z
    .string()
    .optional()
    .describe(
      "file with an administrator's token, made when missing; default `admin-token` in the data directory, with `BATON_AUTH=token`",
    ),
  BATON_LOGIN_FAILURES_PER_MINUTE: z.coerce
    .number()
    .positive()
    .default(30)
    .describe('wrong passwords and tokens accepted from one address, then 429'),
  BATON_PUBLIC_FAILURES_PER_SECOND: z.coerce
    .number()
    .positive()
    .default(200)
    .describe(
      'failing requests without authentication (lookups, heartbeats) accepted from one address, with a reserve of twenty seconds, then 429',
    ),
  BATON_TLS_CERT_FILE: z
    .string()
    .optional()
    .describe('certificate chain (PEM) of the API, which then speaks HTTPS; read again when it changes'),
  BATON_TLS_KEY_FILE: z.string().optional().describe('its private key (PEM)'),
  BATON_BOOT_PORT: port.optional().describe('second port, with plain HTTP, for what machines fetch while they boot'),
  BATON_BOOT_URL: z
    .url()
    .optional()
    .describe('URL under which booting machines reach the conductor; default: the boot port, else the public URL'),
  BATON_AGENT_VERIFIES_TLS: flag
    .default(false)
    .describe(
      "agents check the API's certificate: the ramdisk needs its CA; else they are booted with `ipa-insecure=1`",
    ),
  BATON_IMAGE_URL_ALLOW: z
    .string()
    .default('')
    .describe(
      'where images, checksums and config drives may be fetched from: addresses, ranges, host names, `*.example.org`, beginnings of URLs, with commas between; empty = anywhere but loopback, link-local and metadata addresses',
    ),
  BATON_BMC_ALLOW: z
    .string()
    .default('')
    .describe('where BMCs (`redfish_address`, `ipmi_address`) may be, as `BATON_IMAGE_URL_ALLOW`'),
  BATON_HEALTH_ALLOW: z
    .string()
    .default('')
    .describe("where health gates of sites' groups and nodes' `in_service` may lead, as `BATON_IMAGE_URL_ALLOW`"),
  BATON_CA_DIR: z
    .string()
    .default(systemAuthorities)
    .describe(
      'directory below which `redfish_verify_ca` and `virtual_media_verify_ca` may name files and directories (PEM)',
    ),
  BATON_AGENT_NETWORKS: z
    .string()
    .default('')
    .describe(
      'address ranges of booting machines and agents, with commas between, to which lookups, heartbeats, reports and `/boot` are limited, and calls to agents; empty = anywhere but, for the latter, loopback, link-local and metadata addresses',
    ),
  BATON_AGENT_CALLBACK_MUST_MATCH: flag
    .default(false)
    .describe('refuse agents that ask to be called back at another address than they call from; not behind NAT'),
} as const;
type AuthEnvironment = z.infer<z.ZodObject<typeof authEnvironment>>;

export interface AuthConfig {
  readonly method: (typeof authMethods)[number];
  /** `none` is meant for others than this host's users as well. */
  readonly allowUnauthenticated: boolean;
  readonly htpasswdFile: string;
  /** `undefined` = no such token. */
  readonly adminTokenFile: string | undefined;
  readonly loginFailuresPerMinute: number;
  readonly publicFailuresPerSecond: number;
}

export interface TlsConfig {
  readonly certFile: string;
  readonly keyFile: string;
}

/** @returns what is wrong with the settings together, one line each. */
export function authProblems(
  env: AuthEnvironment & { readonly BATON_HOST: string; readonly BATON_PUBLIC_URL?: string | undefined },
): string[] {
  const problems: string[] = [];
  if (env.BATON_AUTH === 'none' && !isLoopbackHost(env.BATON_HOST) && !env.BATON_ALLOW_UNAUTHENTICATED) {
    problems.push(
      `BATON_AUTH: with BATON_HOST=${env.BATON_HOST} others than this host's users reach the API, so it must be http_basic ` +
        'or token; BATON_ALLOW_UNAUTHENTICATED=true makes every client of the API an administrator',
    );
  }
  const publicHost = env.BATON_PUBLIC_URL === undefined ? undefined : new URL(env.BATON_PUBLIC_URL).hostname;
  if (
    env.BATON_AUTH === 'none' &&
    isLoopbackHost(env.BATON_HOST) &&
    publicHost !== undefined &&
    !isLoopbackHost(literalAddress(publicHost) ?? publicHost) &&
    !env.BATON_ALLOW_UNAUTHENTICATED
  ) {
    problems.push(
      `BATON_AUTH: BATON_PUBLIC_URL=${env.BATON_PUBLIC_URL} says that others reach the API, so it must be http_basic or ` +
        'token; BATON_ALLOW_UNAUTHENTICATED=true makes every client of the API an administrator',
    );
  }
  if (env.BATON_BOOT_PORT !== undefined && env.BATON_BOOT_URL === undefined && isEveryAddress(env.BATON_HOST)) {
    problems.push(
      `BATON_BOOT_URL: with BATON_HOST=${env.BATON_HOST} and BATON_BOOT_PORT it must be given: the URL under which booting machines reach that port`,
    );
  }
  if ((env.BATON_TLS_CERT_FILE === undefined) !== (env.BATON_TLS_KEY_FILE === undefined)) {
    problems.push('BATON_TLS_CERT_FILE, BATON_TLS_KEY_FILE: both or neither');
  }
  for (const [name, parse] of [
    ['BATON_IMAGE_URL_ALLOW', allowList],
    ['BATON_BMC_ALLOW', allowList],
    ['BATON_HEALTH_ALLOW', allowList],
    ['BATON_AGENT_NETWORKS', agentNetworks],
  ] as const) {
    const list = parse(env[name]);
    if (typeof list === 'string') problems.push(`${name}: ${list}`);
  }
  return problems;
}

/** Reads the configuration from settings without problems. */
export function readAuthConfig(env: AuthEnvironment & { readonly BATON_DATA_DIR: string }): AuthConfig {
  const fallback = env.BATON_AUTH === 'token' ? join(env.BATON_DATA_DIR, 'admin-token') : undefined;
  return {
    method: env.BATON_AUTH,
    allowUnauthenticated: env.BATON_ALLOW_UNAUTHENTICATED,
    htpasswdFile: env.BATON_HTPASSWD_FILE,
    adminTokenFile: env.BATON_ADMIN_TOKEN_FILE ?? fallback,
    loginFailuresPerMinute: env.BATON_LOGIN_FAILURES_PER_MINUTE,
    publicFailuresPerSecond: env.BATON_PUBLIC_FAILURES_PER_SECOND,
  };
}

export function readTlsConfig(env: AuthEnvironment): TlsConfig | undefined {
  const { BATON_TLS_CERT_FILE: certFile, BATON_TLS_KEY_FILE: keyFile } = env;
  return certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile };
}

export interface BootConfig {
  /** `undefined` = none: the API's own port serves what machines fetch while they boot. */
  readonly port: number | undefined;
  /** Where boot scripts send machines for files. */
  readonly url: string;
  /** Agents don't check the API's certificate: they were booted over a network that could have sent them another agent. */
  readonly insecureAgents: boolean;
}

export function readBootConfig(env: AuthEnvironment & { readonly BATON_HOST: string }, publicUrl: string): BootConfig {
  const { BATON_BOOT_PORT: bootPort } = env;
  const fallback = bootPort === undefined ? publicUrl : `http://${urlHost(env.BATON_HOST)}:${bootPort}`;
  return {
    port: bootPort,
    url: (env.BATON_BOOT_URL ?? fallback).replace(/\/+$/, ''),
    insecureAgents: publicUrl.startsWith('https:') && !env.BATON_AGENT_VERIFIES_TLS,
  };
}

/** A conductor on loopback is a laboratory: its agents and images are there too. */
export function readOutboundConfig(env: AuthEnvironment & { readonly BATON_HOST: string }): OutboundConfig {
  const allowLoopback = isLoopbackHost(env.BATON_HOST);
  const rules = (setting: string, list: OutboundAllowList | string | undefined, connectsHere: boolean) => ({
    setting,
    allow: typeof list === 'string' ? undefined : list,
    allowLoopback,
    connectsHere,
  });
  return {
    // machines fetch them, so that the addresses of names are not seen here
    images: rules('BATON_IMAGE_URL_ALLOW', allowList(env.BATON_IMAGE_URL_ALLOW), false),
    bmcs: rules('BATON_BMC_ALLOW', allowList(env.BATON_BMC_ALLOW), true),
    health: rules('BATON_HEALTH_ALLOW', allowList(env.BATON_HEALTH_ALLOW), true),
    agentsCallThemselves: env.BATON_AGENT_CALLBACK_MUST_MATCH,
    agents: rules('BATON_AGENT_NETWORKS', agentNetworks(env.BATON_AGENT_NETWORKS), true),
  };
}

function allowList(text: string): OutboundAllowList | string | undefined {
  if (text.trim() === '') return undefined;
  try {
    return parseOutboundAllowList(text);
  } catch (error) {
    return (error as Error).message;
  }
}

function agentNetworks(text: string): OutboundAllowList | string | undefined {
  if (text.trim() === '') return undefined;
  const entries = text.split(',').map((entry) => entry.trim());
  const ranges: AddressRanges | { readonly wrong: string } = parseAddressRanges(entries);
  if ('wrong' in ranges) return `${JSON.stringify(ranges.wrong)} must be an address or a range such as 192.0.2.0/24`;
  return { entries, ranges, names: [], prefixes: [] };
}

/** Recognizes the addresses that mean "all of mine", to which nobody can connect. */
export function isEveryAddress(host: string): boolean {
  return ['0.0.0.0', '::', '::0', '0:0:0:0:0:0:0:0'].includes(host);
}

/** Lists warnings of what is legal and seldom meant; for the log, at the start. */
export function authWarnings({
  host,
  auth,
  tls,
  outbound,
}: {
  readonly host: string;
  readonly auth: Pick<AuthConfig, 'method'>;
  readonly tls: TlsConfig | undefined;
  readonly outbound: Pick<OutboundConfig, 'agents'>;
}): string[] {
  if (auth.method === 'none' || isLoopbackHost(host)) return [];
  return [
    ...(tls
      ? []
      : [
          `BATON_AUTH=${auth.method} with BATON_HOST=${host} and without BATON_TLS_CERT_FILE: passwords and tokens go over ` +
            'the network in clear, unless a proxy on this host or a trusted network ends TLS',
        ]),
    ...(outbound.agents.allow
      ? []
      : [
          'BATON_AGENT_NETWORKS is not set: any client that can reach this port and knows the MAC address of a booting ' +
            'machine can pose as its agent; set it to the networks that ramdisks boot in',
        ]),
  ];
}
