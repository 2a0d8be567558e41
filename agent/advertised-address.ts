import { createSocket } from 'node:dgram';
import { lookup as resolveName } from 'node:dns/promises';
import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { retry } from '#shared/retry.ts';

/**
 * This machine's IP address as the conductor can reach it: of `interfaceName` when given, else the source address of
 * the route to the API. Tried `attempts` times, `retryMs` apart: the network may still be coming up.
 * @throws AppError `unavailable` when there is none in the end.
 */
export async function findAdvertisedAddress(options: {
  readonly apiUrl: () => string;
  readonly interfaceName: string | undefined;
  readonly attempts: number;
  readonly retryMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}): Promise<string> {
  const { apiUrl, interfaceName, signal } = options;
  try {
    return await retry(
      async () =>
        interfaceName === undefined ? sourceAddressTo(new URL(apiUrl())) : addressOfInterface(interfaceName),
      { ...options, delayMs: () => options.retryMs },
    );
  } catch (cause) {
    signal.throwIfAborted();
    throw new AppError('unavailable', `find this machine's address towards ${apiUrl()}`, { cause });
  }
}

/** `https://192.0.2.10:9999`; IPv6 addresses in brackets. */
export function callbackUrl(protocol: 'http' | 'https', address: string, port: number): string {
  return `${protocol}://${isIPv6(address) ? `[${address}]` : address}:${port}`;
}

/** Connecting a UDP socket sends nothing: the kernel only chooses the route and with it the source address. */
async function sourceAddressTo(url: URL): Promise<string> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const { address, family } = await resolveName(host);
  const socket = createSocket(family === 6 ? 'udp6' : 'udp4');
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject);
      socket.connect(Number(url.port) || (url.protocol === 'https:' ? 443 : 80), address, resolve);
    });
    return socket.address().address;
  } finally {
    socket.close();
  }
}

function addressOfInterface(name: string): string {
  const addresses = networkInterfaces()[name] ?? [];
  const usable = addresses.filter(({ address }) => !address.startsWith('fe80:'));
  const found = usable.find(({ family }) => family === 'IPv4') ?? usable[0];
  if (found === undefined) throw new AppError('unavailable', `network interface ${name} has no IP address`);
  return found.address;
}
