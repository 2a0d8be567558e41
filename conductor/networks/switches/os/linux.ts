import { z } from 'zod';
import { type FoundVlans, isolated, portVlans, vlanList, vlansIn } from '#conductor/model/port-vlans.ts';
import { parseAnswer } from '#conductor/networks/switches/command-line/parse-answer.ts';
import { programs } from '#conductor/networks/switches/command-line/programs.ts';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';

/**
 * A Linux computer as a switch: ports of bridges with `vlan_filtering 1` and `vlan_default_pvid 0`. An isolated port is in
 * no VLAN, and has the kernel's `isolated` flag as a second fence. `/var/lib/baton/ports.batch` has every port that was
 * ever set, for `bridge -force -batch` at the start of the bridge: nothing else on the computer keeps VLANs of ports.
 */

const Links = z.array(
  z.object({ ifname: z.string(), master: z.string().optional(), isolated: z.boolean().default(false) }),
);
const Vlans = z.array(
  z.object({
    ifname: z.string(),
    vlans: z.array(
      z.object({ vlan: z.number(), vlanEnd: z.number().optional(), flags: z.array(z.string()).default([]) }),
    ),
  }),
);

export const linux: SwitchOs = {
  name: 'linux',
  transports: { ssh: programs },
  portId: /^[A-Za-z0-9][A-Za-z0-9._-]{0,14}$/,
  read: {
    commands: ['bridge -j -d link show', 'bridge -j vlan show'],
    parse: ([links, vlans]) => {
      const byName = new Map(parseAnswer(Vlans, vlans).map((entry) => [entry.ifname, entry.vlans]));
      const ports = parseAnswer(Links, links).filter(({ master }) => master !== undefined);
      return {
        ports: new Map(ports.map(({ ifname, isolated }) => [ifname, vlansOf(byName.get(ifname) ?? [], isolated)])),
        vlans: undefined,
      };
    },
  },
  isolate: (portIds) =>
    portIds.flatMap((portId) => [`vlan del dev ${portId} vid 1-4094`, `link set dev ${portId} isolated on`]),
  access: (portIds, vlan) =>
    portIds.flatMap((portId) => [
      `vlan del dev ${portId} vid 1-4094`,
      `link set dev ${portId} isolated off`,
      `vlan add dev ${portId} vid ${vlan} pvid untagged`,
    ]),
  trunk: (portIds, { untagged, tagged }) =>
    portIds.flatMap((portId) => [
      `vlan del dev ${portId} vid 1-4094`,
      `link set dev ${portId} isolated off`,
      ...(untagged === undefined ? [] : [`vlan add dev ${portId} vid ${untagged} pvid untagged`]),
      ...vlanList(tagged)
        .split(',')
        .map((range) => `vlan add dev ${portId} vid ${range}`),
    ]),
  joined: (lines) => `bridge -batch - <<'END'\n${lines.join('\n')}\nEND`,
  save: (portIds, lines) => [
    [
      'set -e; mkdir -p /var/lib/baton; cd /var/lib/baton',
      `{ grep -sFv ${portIds.map((portId) => `-e ' dev ${portId} '`).join(' ')} ports.batch || :; cat; } > ports.new <<'END'`,
      ...lines,
      'END',
      'sync ports.new; mv ports.new ports.batch',
    ].join('\n'),
  ],
};

function vlansOf(entries: z.infer<typeof Vlans>[number]['vlans'], hasFence: boolean): FoundVlans {
  if (hasFence) return entries.length === 0 ? isolated : 'other';
  const untagged = entries.filter(({ flags }) => flags.includes('PVID') && flags.includes('Egress Untagged'));
  const tagged = entries.filter(({ flags }) => !flags.includes('PVID') && !flags.includes('Egress Untagged'));
  const [access] = untagged;
  const isKnown = entries.length > 0 && untagged.length + tagged.length === entries.length && untagged.length <= 1;
  if (!isKnown || access?.vlanEnd !== undefined) return 'other';
  return portVlans(
    access?.vlan,
    tagged.flatMap(({ vlan, vlanEnd = vlan }) => vlansIn(`${vlan}-${vlanEnd}`)),
  );
}
