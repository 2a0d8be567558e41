import { allVlans, type FoundVlans, portVlans, readVlan } from '#conductor/model/port-vlans.ts';
import { describedIn } from '#conductor/networks/switches/command-line/hold-ports.ts';
import { vlanAfter } from '#conductor/networks/switches/command-line/lines/interface-sections.ts';
import { carriedBy, knownPorts } from '#conductor/networks/switches/command-line/lines/known-ports.ts';
import {
  shownTrunkList,
  trunkAsShown,
  trunkVlans,
} from '#conductor/networks/switches/command-line/lines/switchport-lines.ts';
import { switchportWords } from '#conductor/networks/switches/command-line/lines/switchport-words.ts';

/** Reads ports of Cisco NX-OS from their lines, and from `show interface switchport`, which shows defaults. Pure. */

export const voiceLine = 'switchport voice vlan';

/** From a block of `show interface switchport`. */
interface ShownPort {
  readonly isSwitchport: boolean;
  /** `access`, `trunk`, `down` … */
  readonly mode: string | undefined;
  readonly accessVlan: number | undefined;
  readonly voiceVlan: string | undefined;
  /** `none`, `1-4094` */
  readonly trunkList: string | undefined;
  /** Gets copies of other ports' frames. */
  readonly isMonitor: boolean;
}

export function shownPorts(text: string): Map<string, ShownPort> {
  const blocks = text.split(/^(?=Name: )/m);
  return new Map(
    blocks.flatMap((block) => {
      const field = (name: string): string | undefined => new RegExp(`^\\s*${name} *: *(.*?) *$`, 'm').exec(block)?.[1];
      const name = field('Name');
      if (name === undefined) return [];
      const shown: ShownPort = {
        isSwitchport: field('Switchport') === 'Enabled',
        mode: field('Operational Mode'),
        accessVlan: readVlan(/^\d+/.exec(field('Access Mode VLAN') ?? '')?.[0]),
        voiceVlan: field('Voice VLAN'),
        trunkList: shownTrunkList(block),
        isMonitor: (field('Switchport Monitor') ?? 'Not enabled') !== 'Not enabled',
      };
      return [[name, shown] as const];
    }),
  );
}

export function isSwitchport(lines: readonly string[], shown: ShownPort | undefined): boolean {
  return shown?.isSwitchport === true && !lines.includes('no switchport');
}

export function readNxosPorts(
  sections: ReadonlyMap<string, readonly string[]>,
  shown: ReadonlyMap<string, ShownPort>,
  isNativeTagged: boolean,
) {
  return {
    ...knownPorts(withEnd(sections), switchportWords, (lines, portId) =>
      vlansOf(lines, shown.get(portId), isNativeTagged),
    ),
    carried: carriedBy(sections, (lines, portId) => carriedVlans(lines, portId, shown.get(portId))),
  };
}

/** Ports come before the interface of management, which each switch has: without it, lines of the last one may be lacking. */
function withEnd(sections: ReadonlyMap<string, readonly string[]>): Map<string, readonly string[]> {
  const last = sections.has('mgmt0') ? undefined : [...sections.keys()].at(-1);
  return new Map(
    [...sections].map(([name, lines]) => [name, name === last ? [...lines, 'unseen: the end of its lines'] : lines]),
  );
}

/** Routed ports carry no VLAN of the switch, nor do links to extenders, whose ports have names of their own; phones' ports carry two. */
function carriedVlans(
  lines: readonly string[],
  portId: string,
  its: ShownPort | undefined,
): readonly (number | undefined)[] | undefined {
  if (lines.includes('no switchport') || its?.isSwitchport === false) return [];
  if (lines.includes('switchport mode fex-fabric')) return [];
  const phones = lines.filter((line) => line.startsWith(`${voiceLine} `));
  const [found] = knownPorts([[portId, lines.filter((line) => !phones.includes(line))]], switchportWords, (known) =>
    vlansOf(known, its && { ...its, voiceVlan: 'none' }),
  ).ports.values();
  if (phones.length === 0 || !found || found === 'other') return undefined;
  return [...allVlans(found), ...phones.map((line) => readVlan(line.slice(voiceLine.length + 1)))];
}

function vlansOf(lines: readonly string[], shown: ShownPort | undefined, isNativeTagged = false): FoundVlans {
  if (!shown || !isSwitchport(lines, shown) || describedIn(lines).isDown) return 'other';
  const { mode: does, accessVlan, voiceVlan = 'none', isMonitor, trunkList } = shown;
  if (isMonitor || voiceVlan !== 'none' || does === undefined) return 'other';
  const mode = lines.find((line) => line.startsWith('switchport mode '));
  const isAccess = mode === undefined || mode === 'switchport mode access';
  // a profile or another's template has set what the lines don't say
  if (!does.startsWith('down') && !does.startsWith(isAccess ? 'access' : 'trunk')) return 'other';
  if (!isAccess) return trunkAsShown(trunkVlans(lines, isNativeTagged), trunkList);
  return accessVlan !== undefined && accessVlan === vlanAfter(lines, 'switchport access vlan', accessVlan)
    ? portVlans(accessVlan)
    : 'other';
}
