import type { TextConfig } from '#test/simulators/switch/text-config.ts';

/** `show interfaces switchport` of a running configuration. */
export function showSwitchports(running: TextConfig): Record<string, unknown> {
  const ports = [...running].filter(([section]) => section.startsWith('interface '));
  const last = (line: string | undefined, otherwise: string): string => line?.split(' ').at(-1) ?? otherwise;
  return Object.fromEntries(
    ports.map(([section, lines]) => [
      section.slice('interface '.length),
      {
        enabled: lines.get('switchport') !== 'no switchport',
        switchportInfo: {
          mode: last(lines.get('switchport mode'), 'access'),
          accessVlanId: Number(last(lines.get('switchport access vlan'), '1')),
          trunkingNativeVlanId: Number(last(lines.get('switchport trunk native vlan'), '1')),
          trunkAllowedVlans: last(lines.get('switchport trunk allowed vlan'), 'ALL').toUpperCase(),
          staticTrunkGroups: [],
        },
      },
    ]),
  );
}
