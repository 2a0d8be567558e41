import { lookup as lookupName } from 'node:dns';
import { lookup as lookupAddresses } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { Agent, buildConnector } from 'undici';
import { AppError } from '#shared/errors/app-error.ts';
import {
  type AddressRanges,
  isAddressRange,
  isLoopbackAddress,
  isUnreachableAddress,
  literalAddress,
  parseAddressRanges,
} from '#shared/peers/address-ranges.ts';

/**
 * Against server-side request forgery: URLs that callers give and that the conductor, or a machine in its networks,
 * fetches. The URL is checked when it is given (`checkOutboundUrl`), the address when it is connected to
 * (`outboundAgent`), for a name may lead elsewhere by then.
 */
export interface OutboundRules {
  /** The setting as messages name it: `BATON_IMAGE_URL_ALLOW`. */
  readonly setting: string;
  /** `undefined` = anywhere that is not refused below. */
  readonly allow: OutboundAllowList | undefined;
  /** Link-local, multicast and metadata addresses are refused always, loopback where this is false; unless `allow` has them by address. */
  readonly allowLoopback: boolean;
  /** Connections are made through `outboundAgent`: a name may be let through whose addresses are then looked at. */
  readonly connectsHere: boolean;
}

/** Settings of traffic that reaches the conductor or leaves it, and may not lead anywhere. */
export interface OutboundConfig {
  readonly images: OutboundRules;
  readonly agents: OutboundRules;
  /** Agents are called back where they call from, or not at all. */
  readonly agentsCallThemselves: boolean;
  readonly bmcs: OutboundRules;
  /** Health gates of sites and instances' `in_service`, which this conductor asks. */
  readonly health: OutboundRules;
}

export interface OutboundAllowList {
  /** Entries as they were given, for another program to parse. */
  readonly entries: readonly string[];
  readonly ranges: AddressRanges;
  /** Lower case; `*.example.org` for all below. */
  readonly names: readonly string[];
  readonly prefixes: readonly URL[];
}

/**
 * Parses `192.0.2.0/24,images.example.org,*.example.net,https://host.example/images/` → what they allow.
 * @throws AppError `invalid_argument` naming the entry.
 */
export function parseOutboundAllowList(text: string): OutboundAllowList {
  const entries = text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  const prefixes = entries.filter((entry) => entry.includes('://'));
  const ranges = entries.filter((entry) => isAddressRange(entry));
  const names = entries.filter((entry) => !prefixes.includes(entry) && !ranges.includes(entry));
  const wrong =
    names.find((name) => !/^(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/i.test(name)) ??
    prefixes.find((prefix) => !/^https?:$/.test(URL.parse(prefix)?.protocol ?? ''));
  const parsedRanges = parseAddressRanges(ranges);
  if (wrong !== undefined || 'wrong' in parsedRanges) {
    throw new AppError(
      'invalid_argument',
      `${JSON.stringify(wrong)} must be an address, a range such as 192.0.2.0/24, a host name, *.example.org, or an http(s) URL that allowed ones begin with`,
    );
  }
  return {
    entries,
    ranges: parsedRanges,
    names: names.map((name) => name.toLowerCase()),
    prefixes: prefixes.map((prefix) => new URL(prefix)),
  };
}

/**
 * Returns the URL, if the rules let it be fetched; without a look at the network.
 * @param what the field, as its giver calls it: `instance_info.image_source`.
 * @throws AppError `invalid_argument` for what is not an http(s) URL, `forbidden` for one that the rules refuse.
 */
export function checkOutboundUrl(what: string, text: string, rules: OutboundRules): URL {
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === '') {
    throw new AppError('invalid_argument', `${what} must be an http:// or https:// URL`);
  }
  const address = literalAddress(url.hostname);
  const { allow } = rules;
  if (address !== undefined && allow?.ranges.has(address)) return url;
  const meant = address ?? addressOfName(url.hostname);
  if (meant !== undefined) requireAllowedAddress(what, meant, rules);
  if (!allow || isNamed(allow, url) || allow.prefixes.some((prefix) => beginsWith(url, prefix))) return url;
  if (address === undefined && rules.connectsHere && allow.ranges.size > 0) return url;
  throw new AppError('forbidden', `${what}: ${rules.setting} does not allow ${url.host}`);
}

/** Resolves names as Node does, and refuses those that lead where the rules don't let a connection go: for `net.connect`. */
export function outboundLookup(rules: OutboundRules): LookupFunction {
  return (hostname, options, callback) => {
    lookupName(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) {
        callback(error, []);
        return;
      }
      try {
        for (const { address } of addresses) requireAddress(hostname, address, rules);
      } catch (refusal) {
        callback(refusal as Error, []);
        return;
      }
      const [first] = addresses;
      if (options.all) callback(null, addresses);
      else callback(null, first?.address ?? '', first?.family);
    });
  };
}

/**
 * Returns an undici dispatcher that connects only where the rules let it, whatever name led there. It follows no redirects
 * by itself.
 */
export function outboundAgent(rules: OutboundRules, options: Agent.Options = {}): Agent {
  const given = typeof options.connect === 'function' ? {} : options.connect;
  const connect = buildConnector({ ...given, lookup: outboundLookup(rules) });
  return new Agent({
    ...options,
    connect: (target, callback) => {
      try {
        checkOutboundAddress(target.hostname, rules);
      } catch (refusal) {
        callback(refusal as Error, null);
        return;
      }
      connect(target, callback);
    },
  });
}

/**
 * Checks a host that is an address: `net.connect` never looks it up. Names pass (`outboundLookup` checks theirs).
 * @throws AppError `forbidden` for an address that the rules refuse
 */
export function checkOutboundAddress(host: string, rules: OutboundRules): void {
  const address = literalAddress(host);
  if (address !== undefined) requireAddress(host, address, rules);
}

/**
 * Returns the address that a host has, for a program that connects by itself: the one that was looked at is the one to hand
 * over.
 * @throws AppError `forbidden` as the rules say, `unavailable` for a name that leads nowhere.
 */
export async function resolveOutbound(host: string, rules: OutboundRules): Promise<string> {
  const addresses = await lookupAddresses(host, { all: true }).catch((cause: unknown) => {
    throw new AppError('unavailable', `look up ${host}`, { cause });
  });
  for (const { address } of addresses) requireAddress(host, address, rules);
  const [first] = addresses;
  if (!first) throw new AppError('unavailable', `look up ${host}: it has no address`);
  return first.address;
}

/** @throws AppError `forbidden` for an address that a connection may not go to. */
function requireAddress(host: string, address: string, rules: OutboundRules): void {
  const { allow } = rules;
  if (allow?.ranges.has(address)) return;
  requireAllowedAddress(`connect to ${host}`, address, rules);
  const isKnownHost =
    !allow || isNamed(allow, { hostname: host }) || allow.prefixes.some((prefix) => prefix.hostname === host);
  if (!isKnownHost) {
    throw new AppError('forbidden', `connect to ${host}: ${rules.setting} does not allow its address ${address}`);
  }
}

function requireAllowedAddress(what: string, address: string, rules: OutboundRules): void {
  const isRefused = isUnreachableAddress(address) || (isLoopbackAddress(address) && !rules.allowLoopback);
  if (!isRefused) return;
  throw new AppError(
    'forbidden',
    `${what}: loopback, link-local and metadata addresses such as ${address} are not called, unless ${rules.setting} has them`,
  );
}

function isNamed(allow: OutboundAllowList, url: { readonly hostname: string }): boolean {
  const host = url.hostname.toLowerCase().replace(/\.$/, '');
  return allow.names.some((name) => (name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name));
}

/**
 * Checks that a URL begins with an allowed one: `http://host/images` allows `/images` and `/images/…`, not
 * `/images-of-others`.
 */
function beginsWith(url: URL, prefix: URL): boolean {
  const path = prefix.pathname.replace(/\/$/, '');
  // a server may decode and resolve what the URL parser leaves alone
  const isPlain = !/%2e|%2f|%5c|\\/i.test(url.pathname);
  return url.origin === prefix.origin && isPlain && (url.pathname === path || url.pathname.startsWith(`${path}/`));
}

/** Finds the address that a name leads to, where it means the same everywhere. */
function addressOfName(hostname: string): string | undefined {
  const name = hostname.toLowerCase().replace(/\.$/, '');
  if (/(^|\.)localhost$|^(ip6-)?(localhost|loopback)6?$|^localhost6?\.localdomain6?$/.test(name)) return '127.0.0.1';
  return /^(metadata\.google\.internal|metadata\.goog|instance-data(\.ec2\.internal)?)$/.test(name)
    ? '169.254.169.254'
    : undefined;
}
