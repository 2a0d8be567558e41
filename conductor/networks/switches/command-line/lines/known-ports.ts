import type { FoundVlans } from '#conductor/model/port-vlans.ts';
import type { SwitchSnapshot } from '#conductor/networks/switches/command-line/switch-os.ts';

/**
 * The one way from what a switch says of its ports to their VLANs: a port of which anything is said that is not known is
 * `other`, whatever the rest says, for it may put the port into a network. A system's words are two lists. Pure.
 */
export interface KnownWords {
  /** Lines that say the port's networks: the system's own reading understands each. */
  readonly networks: readonly RegExp[];
  /** Lines that no frame's network depends on. */
  readonly apart: readonly RegExp[];
  /** Decides whether one of those lines matters beside the port's other lines. */
  readonly matters?: (line: string, lines: readonly string[]) => boolean;
}

/**
 * @param vlansOf gets only lines of `networks`; a line of another kind never reaches it
 * @param names of all interfaces, where `sections` lacks some: one that is part of a port is a use of it
 */
export function knownPorts(
  sections: Iterable<readonly [portId: string, lines: readonly string[]]>,
  { networks, apart, matters = () => false }: KnownWords,
  vlansOf: (lines: readonly string[], portId: string) => FoundVlans,
  names: Iterable<string> = [...sections].map(([portId]) => portId),
): Required<Pick<SwitchSnapshot, 'ports' | 'unread'>> {
  const parts = [...names].filter((name) => name.includes('.'));
  const isOne = (words: readonly RegExp[], line: string): boolean => words.some((form) => form.test(line));
  const ports = new Map<string, FoundVlans>();
  const unread = new Map<string, readonly string[]>();
  for (const [portId, lines] of sections) {
    const known = lines.filter((line) => isOne(networks, line));
    const odd = [
      ...lines.filter((line) => !known.includes(line) && (!isOne(apart, line) || matters(line, lines))),
      // a subinterface takes frames of the port
      ...parts.filter((name) => name.startsWith(`${portId}.`)).map((name) => `interface ${name}`),
    ];
    ports.set(portId, odd.length === 0 ? vlansOf(known, portId) : 'other');
    if (odd.length > 0) unread.set(portId, odd);
  }
  return { ports, unread };
}

/** Finds, for ports with `other` settings, the VLANs that are known all the same. */
export function carriedBy(
  sections: Iterable<readonly [portId: string, lines: readonly string[]]>,
  vlansOf: (lines: readonly string[], portId: string) => readonly (number | undefined)[] | undefined,
): Map<string, readonly number[]> {
  const carried = new Map<string, readonly number[]>();
  for (const [portId, lines] of sections) {
    const vlans = vlansOf(lines, portId);
    const known = vlans?.filter((vlan) => vlan !== undefined);
    if (known && known.length === vlans?.length) carried.set(portId, known);
  }
  return carried;
}

/** Words of lines that begin with one of these, with or without `no`. */
export function lineThatBegins(...words: readonly string[]): RegExp {
  return new RegExp(`^(no )?(${words.join('|')})( |$)`);
}

/** A JSON tree's leaves as lines of their keys and value: `bridge domain br_default access 10`. An empty object is a leaf. */
export function leavesOf(tree: unknown): string[] {
  if (typeof tree !== 'object' || tree === null) return [String(tree)];
  return Object.entries(tree).flatMap(([key, below]) => {
    const lines = leavesOf(below);
    return lines.length === 0 ? [key] : lines.map((line) => `${key} ${line}`);
  });
}
