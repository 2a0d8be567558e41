/** Which ports of a switch Baton may touch. Pure. */

/**
 * Whether the pattern names the port: `*` is any text, `{1-48}` any of these numbers; case matters.
 * `Ethernet{1-46}`, `ge-0/0/{0-47}`, `swp*`.
 */
export function namesPort(pattern: string, portId: string): boolean {
  const ranges: { readonly from: number; readonly to: number }[] = [];
  const source = pattern.replace(/\{(\d+)-(\d+)\}|\*|[^{*]+|\{/g, (part, from?: string, to?: string) => {
    if (from !== undefined && to !== undefined) {
      ranges.push({ from: Number(from), to: Number(to) });
      return '(0|[1-9]\\d*)';
    }
    return part === '*' ? '.*' : part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  });
  const numbers = new RegExp(`^${source}$`).exec(portId)?.slice(1);
  return numbers?.every((number, index) => isBetween(Number(number), ranges[index])) ?? false;
}

/** Whether the pattern has a range such as `{46-1}`, which names nothing. */
export function hasEmptyRange(pattern: string): boolean {
  return [...pattern.matchAll(/\{(\d+)-(\d+)\}/g)].some(([, from, to]) => Number(from) > Number(to));
}

function isBetween(number: number, range: { readonly from: number; readonly to: number } | undefined): boolean {
  return range !== undefined && number >= range.from && number <= range.to;
}

export interface PortRules {
  /** Patterns; `undefined` = any port. */
  readonly ports?: readonly string[] | undefined;
  /** Patterns of ports that are never touched, whatever `ports` says. */
  readonly uplinks?: readonly string[] | undefined;
}

/** Why the port is not to be touched; `undefined` = it may be. */
export function portFault({ ports, uplinks }: PortRules, portId: string): string | undefined {
  if (uplinks?.some((pattern) => namesPort(pattern, portId)))
    return 'is an uplink of the switch (uplinks in the networks file)';
  if (!ports || ports.some((pattern) => namesPort(pattern, portId))) return undefined;
  return `is not among the switch's ports in the networks file, which are: ${ports.join(', ')}`;
}
