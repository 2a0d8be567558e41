const separated = /^[0-9a-f]{2}([:-][0-9a-f]{2}){5}$/i;

/** A MAC address as lower-case `aa:bb:cc:dd:ee:ff` (from colon or dash form), or `undefined` when it is none. */
export function parseMacAddress(text: string): string | undefined {
  return separated.test(text) ? text.toLowerCase().replaceAll('-', ':') : undefined;
}
