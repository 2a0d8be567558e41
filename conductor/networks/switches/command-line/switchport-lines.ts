import {
  allVlans,
  type FoundVlans,
  isolated,
  type PortVlans,
  portVlans,
  vlanList,
  vlansIn,
} from '#conductor/model/port-vlans.ts';
import { numberAfter } from '#conductor/networks/switches/command-line/interface-sections.ts';

/**
 * Ports in the words that Cisco's family of command lines shares. VLANs come before the mode: in between a port would be a
 * trunk of all VLANs, or in VLAN 1.
 */

/** @param opens `interface Ethernet1/1, Ethernet1/2` */
export function isolateLines(opens: string): string[] {
  return [
    opens,
    'switchport',
    'switchport trunk allowed vlan none',
    'switchport mode trunk',
    'no switchport trunk native vlan',
    'no switchport access vlan',
    'exit',
  ];
}

export function accessLines(opens: string, vlan: number): string[] {
  return [
    opens,
    'switchport',
    `switchport access vlan ${vlan}`,
    'switchport mode access',
    'switchport trunk allowed vlan none',
    'no switchport trunk native vlan',
    'exit',
  ];
}

/** Without an untagged VLAN the native one is 1, which the list lacks: what comes without a tag is dropped. */
export function trunkLines(opens: string, vlans: PortVlans): string[] {
  return [
    opens,
    'switchport',
    vlans.untagged === undefined ? 'no switchport trunk native vlan' : `switchport trunk native vlan ${vlans.untagged}`,
    `switchport trunk allowed vlan ${vlanList(allVlans(vlans))}`,
    'switchport mode trunk',
    'no switchport access vlan',
    'exit',
  ];
}

/** The VLANs of a trunk from its lines in the configuration; long lists go on with `add`. */
export function trunkVlans(lines: readonly string[]): FoundVlans {
  const lists = lines.flatMap((line) => /^switchport trunk allowed vlan (?:add )?([\d,-]+)$/.exec(line)?.[1] ?? []);
  const listed = lists.flatMap(vlansIn);
  if (listed.length === 0) return lines.includes('switchport trunk allowed vlan none') ? isolated : 'other';
  const native = numberAfter(lines, 'switchport trunk native vlan') ?? 1;
  return portVlans(listed.includes(native) ? native : undefined, listed);
}
