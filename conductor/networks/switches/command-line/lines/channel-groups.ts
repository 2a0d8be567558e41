import { interfaceSections } from '#conductor/networks/switches/command-line/lines/interface-sections.ts';
import type { BondRows, Membership, NamedBond } from '#conductor/networks/switches/command-line/switch-os.ts';

/** Bonds in the words that Cisco's family of command lines shares: a port is in the `channel-group` of its `port-channel`. */
export interface ChannelWords {
  readonly name: (number: number) => string;
  /** `interface Ethernet1/1, Ethernet1/2`, as many lines as it takes. */
  readonly opens: (portIds: readonly string[]) => readonly string[];
  readonly isolate: (portIds: readonly string[]) => readonly string[];
  /** In the channel's own section: its other half is at the pair. */
  readonly pair?: ((number: number) => string) | undefined;
}

export function channelGroups(words: ChannelWords): Omit<BondRows, 'members'> {
  const { name, opens, isolate, pair } = words;
  const each = (portIds: readonly string[], line: string): string[] =>
    opens(portIds).flatMap((open) => [open, line, 'exit']);
  return {
    name,
    modes: ['lacp', 'static'],
    pairs: pair === undefined ? [] : ['lacp', 'static'],
    // a routed one is not taken into a pair
    make: (bond) => [
      `interface ${bond.name}`,
      'exit',
      ...isolate([bond.name]),
      ...(bond.acrossPair && pair ? each([bond.name], pair(bond.number)) : []),
    ],
    join: (portIds, { number, mode }: NamedBond) =>
      each(portIds, `channel-group ${number} mode ${mode === 'lacp' ? 'active' : 'on'}`),
    leave: (portIds) => each(portIds, 'no channel-group'),
    remove: (bondName) => [`no interface ${bondName}`],
  };
}

/** Finds the members of channels in a running configuration. */
export function channelMembers(config: string, { name, pair }: Pick<ChannelWords, 'name' | 'pair'>) {
  return membersIn(interfaceSections(config), { name, pair });
}

export function membersIn(
  sections: ReadonlyMap<string, readonly string[]>,
  { name, pair }: Pick<ChannelWords, 'name' | 'pair'>,
): Map<string, Membership> {
  const members = [...sections].flatMap(([portId, lines]) => {
    const group = lines.map((line) => /^channel-group (\d+)(?: force)?(?: mode (\w+))?/.exec(line)).find(Boolean);
    if (!group) return [];
    const bond = name(Number(group[1]));
    const acrossPair = pair !== undefined && (sections.get(bond) ?? []).includes(pair(Number(group[1])));
    return [[portId, { name: bond, mode: modeOf(group[2]), acrossPair }] as const];
  });
  return new Map(members);
}

function modeOf(word: string | undefined): Membership['mode'] {
  if (word === 'active') return 'lacp';
  return word === 'on' || word === undefined ? 'static' : 'other';
}
