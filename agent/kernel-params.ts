import { parseMacAddress } from '#shared/mac-address.ts';

/**
 * The `key=value` items of a kernel command line (agent-protocol.md §2.6). Items without `=` are not seen; of a key
 * given twice the last one counts.
 */
export function parseKernelParams(commandLine: string): ReadonlyMap<string, string> {
  return new Map(
    commandLine
      .split(/\s+/)
      .map((item) => [item, item.indexOf('=')] as const)
      .filter(([, at]) => at > 0)
      .map(([item, at]) => [item.slice(0, at), item.slice(at + 1)] as const),
  );
}

/**
 * The boot NIC's MAC address from `BOOTIF`: pxelinux writes `01-aa-bb-cc-dd-ee-ff` (ARP hardware type first), iPXE
 * `aa:bb:cc:dd:ee:ff`. `undefined` when it is neither.
 */
export function parseBootif(text: string): string | undefined {
  return parseMacAddress(/^[0-9a-f]{2}-(?:[0-9a-f]{2}-){5}[0-9a-f]{2}$/i.test(text) ? text.slice(3) : text);
}
