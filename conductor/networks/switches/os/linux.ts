import { z } from 'zod';
import { type FoundVlans, isolated, portVlans, vlanList, vlansIn } from '#conductor/model/port-vlans.ts';
import { type KnownWords, knownPorts } from '#conductor/networks/switches/command-line/lines/known-ports.ts';
import { parseAnswer } from '#conductor/networks/switches/command-line/lines/parse-answer.ts';
import { programs } from '#conductor/networks/switches/command-line/programs.ts';
import type { Membership, SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';

/**
 * A Linux computer as a switch: ports of bridges with `vlan_filtering 1` and `vlan_default_pvid 0`. An isolated port is in
 * no VLAN, and has the kernel's `isolated` flag as a second fence. `/var/lib/baton/ports.sh` makes every port and bond that
 * was ever set again, for the start of the bridge: nothing else on the computer keeps them. Each of its lines names what it
 * is about as ` dev NAME `, and goes when that is set again.
 */

/** `ip -j -d link show`: every device of the computer. */
const Links = z.array(
  z.object({
    ifname: z.string(),
    master: z.string().default(''),
    /** The device that it is on top of. */
    link: z.string().nullish(),
    linkinfo: z
      .object({
        info_kind: z.string().optional(),
        info_data: z.object({ mode: z.unknown().optional(), vlan_filtering: z.unknown().optional() }).optional(),
        info_slave_kind: z.string().optional(),
        info_slave_data: z.object({ isolated: z.unknown().optional(), vlan_tunnel: z.unknown().optional() }).optional(),
      })
      .default({}),
  }),
);
type Link = z.infer<typeof Links>[number];
const Vlans = z.array(
  z.object({
    ifname: z.string(),
    vlans: z.array(
      z.object({ vlan: z.number(), vlanEnd: z.number().optional(), flags: z.array(z.string()).default([]) }),
    ),
  }),
);

const bondModes = { lacp: '802.3ad', static: 'balance-xor' } as const;

export const linux: SwitchOs = {
  name: 'linux',
  transports: { ssh: programs },
  portId: /^[A-Za-z0-9][A-Za-z0-9._-]{0,14}$/,
  read: {
    commands: ['ip -j -d link show', 'bridge -j vlan show'],
    parse: ([links, vlans]) => {
      const byName = new Map(parseAnswer(Vlans, vlans).map((entry) => [entry.ifname, entry.vlans]));
      const devices = parseAnswer(Links, links);
      const ports = devices.filter(({ linkinfo }) => linkinfo.info_slave_kind === 'bridge');
      const filtering = devices.filter(({ linkinfo }) => Number(linkinfo.info_data?.vlan_filtering) === 1);
      const noFilter = ports.filter(({ master }) => !filtering.some(({ ifname }) => ifname === master));
      const sections = ports.map((port) => [port.ifname, linesAbout(port, devices, noFilter.includes(port))] as const);
      return {
        // a port in no VLAN is not listed
        ...knownPorts(
          sections,
          words,
          (_, portId) => {
            const its = ports.find(({ ifname }) => ifname === portId);
            return vlansOf(byName.get(portId) ?? [], its?.linkinfo.info_slave_data?.isolated === true);
          },
          // a device's `link` says what it is part of, its name nothing
          [],
        ),
        fixed: new Map(
          noFilter.map(({ ifname, master }) => [
            ifname,
            `bridge ${master} does not filter VLANs, so that none is kept apart: ip link set dev ${master} type bridge vlan_filtering 1 vlan_default_pvid 0`,
          ]),
        ),
        vlans: undefined,
      };
    },
  },
  isolate: (portIds) => portIds.flatMap(isolateLines),
  access: (portIds, vlan) =>
    portIds.flatMap((portId) => [
      `bridge vlan del dev ${portId} vid 1-4094`,
      `bridge link set dev ${portId} isolated off`,
      `bridge vlan add dev ${portId} vid ${vlan} pvid untagged`,
    ]),
  trunk: (portIds, { untagged, tagged }) =>
    portIds.flatMap((portId) => [
      `bridge vlan del dev ${portId} vid 1-4094`,
      `bridge link set dev ${portId} isolated off`,
      ...(untagged === undefined ? [] : [`bridge vlan add dev ${portId} vid ${untagged} pvid untagged`]),
      ...vlanList(tagged)
        .split(',')
        .map((range) => `bridge vlan add dev ${portId} vid ${range}`),
    ]),
  bonds: {
    name: (number) => `bond${number}`,
    modes: ['lacp', 'static'],
    pairs: [],
    members: ([links]) => membersIn(parseAnswer(Links, links)),
    make: ({ name, mode }) => [
      // one that a lost change has left may be of another mode
      `ip -o link show master ${name} 2>/dev/null | grep -q . || { ip link del dev ${name} 2>/dev/null || :; ip link add dev ${name} type bond mode ${bondModes[mode]} miimon 100; }`,
    ],
    join: (portIds, { name }) => portIds.map((portId) => joinLine(portId, name)),
    leave: (portIds, bondName) => portIds.map((portId) => leaveLine(portId, bondName)),
    remove: (bondName) => [`ip link del dev ${bondName}`],
  },
  joined: (lines) => [['set -e', ...batches(lines)].join('\n')],
  save: (portIds, lines) => {
    const renewed = portIds.filter((portId) => lines.some((line) => line.includes(` dev ${portId} `)));
    return [
      [
        'set -e; mkdir -p /var/lib/baton; cd /var/lib/baton; touch ports.sh',
        // kept by earlier versions, for `bridge -batch`: what ports.sh has is newer
        `if [ -e ports.batch ]; then grep -o ' dev [^ ]* ' ports.sh | sort -u >ports.gone; { grep -Fvf ports.gone ports.batch | sed 's/^/bridge /'; cat ports.sh; } >ports.new; sync ports.new; mv ports.new ports.sh; fi`,
        `for bond in $(grep -o ' dev bond[0-9]* ' ports.sh | sort -u | cut -d' ' -f3); do ip link show dev $bond >/dev/null 2>&1 || echo " dev $bond "; done >ports.gone`,
        `cat >>ports.gone <<'END'\n${renewed.map((portId) => ` dev ${portId} `).join('\n')}\nEND`,
        `{ grep -Fvf ports.gone ports.sh || :; cat; } >ports.new <<'END'`,
        ...lines,
        'END',
        'sync ports.new; mv ports.new ports.sh; rm ports.gone; [ ! -e ports.batch ] || mv ports.batch ports.batch.old',
      ].join('\n'),
    ];
  },
};

function isolateLines(portId: string): string[] {
  return [`bridge vlan del dev ${portId} vid 1-4094`, `bridge link set dev ${portId} isolated on`];
}

/** The bond enters the bridge of its first member, isolated, and takes its MTU: members get that of their bond. */
function joinLine(portId: string, bondName: string): string {
  const master = wordOf(portId, 'master');
  const steps = [
    `ip link set dev ${bondName} mtu ${wordOf(portId, 'mtu')}`,
    `ip link set dev ${bondName} master ${master} up`,
    ...isolateLines(bondName),
    `ip link set dev ${portId} down`,
    // a port that the bond refuses has left the bridge already; in ports.sh the lines after it count all the same
    `ip link set dev ${portId} master ${bondName} || { ${[leaveLine(portId, bondName), ...isolateLines(portId), 'false'].join('; ')}; }`,
  ];
  return `[ ${master} = ${bondName} ] || { ${steps.join('; ')}; }`;
}

/** Into the bond's bridge. */
function leaveLine(portId: string, bondName: string): string {
  return `ip link set dev ${portId} master ${wordOf(bondName, 'master')} up`;
}

/** Finds what follows a word in the link's description: `… mtu 1500 … master br0 …`. */
function wordOf(device: string, word: string): string {
  return `"$(ip -o link show dev ${device} | sed -n 's/.* ${word} \\([^ ]*\\).*/\\1/p')"`;
}

/** Commands of `bridge` that follow each other, hundreds perhaps, in one start of it. */
function batches(lines: readonly string[]): string[] {
  const isBridge = (line: string | undefined): boolean => line?.startsWith('bridge ') === true;
  return lines.flatMap((line, index) => {
    if (!isBridge(line)) return [line];
    return [
      ...(isBridge(lines[index - 1]) ? [] : ["bridge -batch - <<'END'"]),
      line.slice('bridge '.length),
      ...(isBridge(lines[index + 1]) ? [] : ['END']),
    ];
  });
}

const words: KnownWords = { networks: [/^isolated (true|false)$/], apart: [] };

/** Lists what in a port's surroundings says its networks, beside its VLANs. */
function linesAbout({ ifname, linkinfo }: Link, devices: readonly Link[], isUnfiltered: boolean): string[] {
  const tunnel = linkinfo.info_slave_data?.vlan_tunnel;
  return [
    `isolated ${linkinfo.info_slave_data?.isolated === true}`,
    ...(tunnel === undefined || tunnel === false ? [] : [`vlan_tunnel ${JSON.stringify(tunnel)}`]),
    // takes frames before the bridge does
    ...devices.filter(({ link }) => link === ifname).map((upper) => `${upper.ifname}@${ifname}`),
    ...(isUnfiltered ? ['vlan_filtering 0'] : []),
  ];
}

function membersIn(links: z.infer<typeof Links>): Map<string, Membership> {
  const modeOf = (bond: string): Membership['mode'] => {
    const word = links.find(({ ifname }) => ifname === bond)?.linkinfo.info_data?.mode;
    return (['lacp', 'static'] as const).find((mode) => bondModes[mode] === word) ?? 'other';
  };
  const members = links.filter(({ linkinfo }) => linkinfo.info_slave_kind === 'bond');
  return new Map(
    members.map(({ ifname, master }) => [ifname, { name: master, mode: modeOf(master), acrossPair: false }]),
  );
}

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
