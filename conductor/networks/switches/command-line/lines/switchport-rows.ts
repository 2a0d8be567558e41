import {
  type ChannelWords,
  channelGroups,
  channelMembers,
} from '#conductor/networks/switches/command-line/lines/channel-groups.ts';
import {
  accessLines,
  isolateLines,
  type MoreLines,
  trunkLines,
} from '#conductor/networks/switches/command-line/lines/switchport-lines.ts';
import type { BondRows, ChangeRows } from '#conductor/networks/switches/command-line/switch-os.ts';

/**
 * How ports are set in the words that Cisco's family of command lines shares.
 * @param moreOf the lines that a port needs beside those that all get
 */
export function switchportRows(
  words: Omit<ChannelWords, 'isolate'>,
  moreOf: (portId: string) => MoreLines = () => ({}),
): ChangeRows & { readonly bonds: BondRows } {
  const each = (portIds: readonly string[], lines: (range: string, more: MoreLines) => string[]): string[] =>
    [...Map.groupBy(portIds, (portId) => JSON.stringify(moreOf(portId))).values()].flatMap((ids) =>
      words.opens(ids).flatMap((range) => lines(range, moreOf(ids[0] ?? ''))),
    );
  const isolate = (portIds: readonly string[]): string[] => each(portIds, isolateLines);
  return {
    isolate,
    access: (portIds, vlan) => each(portIds, (range, more) => accessLines(range, vlan, more)),
    trunk: (portIds, vlans) => each(portIds, (range, more) => trunkLines(range, vlans, more)),
    bonds: { ...channelGroups({ ...words, isolate }), members: ([config = '']) => channelMembers(config, words) },
  };
}
