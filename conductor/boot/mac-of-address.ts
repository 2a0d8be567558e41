import { readFile } from 'node:fs/promises';
import { plainAddress } from '#shared/peers/address-ranges.ts';

/** The kernel's neighbours of this machine. */
const neighboursFile = '/proc/net/arp';

/**
 * The MAC address, lower-case, of the machine that has this IPv4 address on a network of this one's; `undefined` = it is not
 * known, or behind a router. Firmware that boots by HTTP says of itself only where it is.
 */
export async function macOfAddress(address: string | undefined, file = neighboursFile): Promise<string | undefined> {
  const plain = address === undefined ? undefined : plainAddress(address);
  const lines = (await readFile(file, 'utf8')).split('\n').slice(1);
  const [, , , mac] = lines.map((line) => line.split(/ +/)).find(([ip]) => ip === plain) ?? [];
  // what has not answered has this one
  return mac === '00:00:00:00:00:00' ? undefined : mac?.toLowerCase();
}
