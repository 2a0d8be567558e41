import {
  allVlans,
  type FoundVlans,
  isolated,
  type PortVlans,
  portVlans,
  readVlans,
  vlanList,
} from '#conductor/model/port-vlans.ts';
import { vlanAfter } from '#conductor/networks/switches/command-line/lines/interface-sections.ts';

/**
 * Ports in the words that Cisco's family of command lines shares. VLANs come before the mode: in between a port would be a
 * trunk of all VLANs, or in VLAN 1.
 */

/** Lines that some ports or switches need beside these. */
export interface MoreLines {
  /** Before the mode: on a switch that knows ISL too, `switchport trunk encapsulation dot1q`. */
  readonly beforeMode?: readonly string[];
  /** Whether it is a switched port already: models that route at no port don't know the bare `switchport`. */
  readonly isSwitched?: boolean;
  /** Lines that remove what else would carry a network: `no switchport voice vlan`. */
  readonly away?: readonly string[];
}

/** @param opens `interface Ethernet1/1, Ethernet1/2` */
export function isolateLines(opens: string, { beforeMode = [], away = [], isSwitched }: MoreLines = {}): string[] {
  return [
    opens,
    ...switched(isSwitched),
    'switchport trunk allowed vlan none',
    ...beforeMode,
    'switchport mode trunk',
    'no switchport trunk native vlan',
    'no switchport access vlan',
    ...away,
    'exit',
  ];
}

export function accessLines(opens: string, vlan: number, { away = [], isSwitched }: MoreLines = {}): string[] {
  return [
    opens,
    ...switched(isSwitched),
    ...away,
    `switchport access vlan ${vlan}`,
    'switchport mode access',
    'switchport trunk allowed vlan none',
    'no switchport trunk native vlan',
    'exit',
  ];
}

/** Without an untagged VLAN the native one is 1, which the list lacks: what comes without a tag is dropped. */
export function trunkLines(opens: string, vlans: PortVlans, more: MoreLines = {}): string[] {
  const { beforeMode = [], away = [], isSwitched } = more;
  return [
    opens,
    ...switched(isSwitched),
    ...away,
    vlans.untagged === undefined ? 'no switchport trunk native vlan' : `switchport trunk native vlan ${vlans.untagged}`,
    `switchport trunk allowed vlan ${vlanList(allVlans(vlans))}`,
    ...beforeMode,
    'switchport mode trunk',
    'no switchport access vlan',
    'exit',
  ];
}

function switched(isAlready = false): string[] {
  return isAlready ? [] : ['switchport'];
}

/** VLAN of a port whose configuration has no line about it. */
export const defaultVlan = 1;

/** Whether the switch sends the native VLAN of each trunk with a tag, and drops what comes to a trunk without one. */
export function tagsNative(config: string): boolean {
  return /^\s*vlan dot1q tag native( .*)?$/m.test(config);
}

export const nativeIsTagged =
  'the switch tags the native VLAN of all trunks (vlan dot1q tag native): take that line away, or give the network tagged VLANs alone';

/** The VLANs of a trunk from its lines in the configuration; long lists go on with `add`. */
export function trunkVlans(lines: readonly string[], isNativeTagged = false): FoundVlans {
  const [list, ...others] = lines.flatMap(
    (line) => /^switchport trunk allowed vlan (?!add )(.+)$/.exec(line)?.[1] ?? [],
  );
  const more = lines.flatMap((line) => /^switchport trunk allowed vlan add (.+)$/.exec(line)?.[1] ?? []);
  // what is added to a list that is not there is added to all
  if (list === undefined || others.length > 0) return 'other';
  if (list === 'none' && more.length === 0) return isolated;
  const listed = readVlans([...(list === 'none' ? [] : [list]), ...more].join());
  const native = vlanAfter(lines, 'switchport trunk native vlan', defaultVlan);
  if (!listed || native === undefined) return 'other';
  return portVlans(listed.includes(native) && !isNativeTagged ? native : undefined, listed);
}

/**
 * Finds the list of VLANs in a block of `show interfaces switchport` (IOS) or `show interface switchport` (NX-OS), which may
 * go on in further lines.
 */
export function shownTrunkList(block: string): string | undefined {
  return /^\s*Trunking VLANs (?:Enabled|Allowed) *: *(\S+(?:\n\s+[\d,-]+(?=\s))*)/m
    .exec(block)?.[1]
    ?.replace(/\s/g, '');
}

/**
 * A trunk as its lines say, where the switch shows the same list. Where it doesn't, a profile, a template or a server has set
 * others. That a port carries nothing counts only where the switch shows just that.
 */
export function trunkAsShown(found: FoundVlans, list: string | undefined): FoundVlans {
  if (found === 'other') return 'other';
  const said = /^none$/i.test(list ?? '') ? [] : readVlans(list ?? '');
  return said !== undefined && vlanList(said) === vlanList(allVlans(found)) ? found : 'other';
}
