const separated = /^[0-9a-f]{2}([:-][0-9a-f]{2}){5}$/i;

/** Parses a MAC address as lower-case `aa:bb:cc:dd:ee:ff` (from colon or dash form), or `undefined` when it is none. */
export function parseMacAddress(text: string): string | undefined {
  return separated.test(text) ? text.toLowerCase().replaceAll('-', ':') : undefined;
}

/** Addresses of cards that nobody has given one: without firmware, and as Intel's I225 and I226 leave its factory. */
const notAssigned: ReadonlySet<string> = new Set(['00:00:00:00:00:00', '00:a0:c9:00:00:00']);

/**
 * Parses a MAC address by which a network card may be known again, as `parseMacAddress` gives it; `undefined` also for what
 * many have, and for addresses of groups.
 */
export function parseCardAddress(text: string): string | undefined {
  const mac = parseMacAddress(text);
  const isGroup = (Number.parseInt(mac?.slice(0, 2) ?? '', 16) & 1) === 1;
  return mac === undefined || notAssigned.has(mac) || isGroup ? undefined : mac;
}

/** Reads a list of texts: the addresses among them, as `parseCardAddress` gives them. */
export function parseCardAddresses(texts: readonly string[]): string[] {
  return texts.map((text) => parseCardAddress(text.trim())).filter((mac) => mac !== undefined);
}

/** Drivers of USB's own classes of network cards: BMCs show the machine a card of them, adapters have others. */
const classDrivers: ReadonlySet<string> = new Set(['cdc_ether', 'cdc_eem', 'cdc_ncm', 'cdc_subset', 'rndis_host']);

/**
 * Returns whether it is the link to the machine's own BMC (over USB): many makers give it the same address, which no one has
 * assigned, on all of their machines. One that nobody has assigned has the second bit of its first byte set.
 */
export function isBmcLink(nic: { readonly macAddress: string; readonly driver: string | null | undefined }): boolean {
  const isUnassigned = (Number.parseInt(nic.macAddress.slice(0, 2), 16) & 2) === 2;
  return isUnassigned && classDrivers.has(nic.driver ?? '');
}
