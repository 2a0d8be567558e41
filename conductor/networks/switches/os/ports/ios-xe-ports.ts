import { type FoundVlans, portVlans, readVlan } from '#conductor/model/port-vlans.ts';
import { describedIn } from '#conductor/networks/switches/command-line/hold-ports.ts';
import { isLogged, vlanAfter } from '#conductor/networks/switches/command-line/lines/interface-sections.ts';
import { carriedBy, type KnownWords, knownPorts } from '#conductor/networks/switches/command-line/lines/known-ports.ts';
import { notUnderstood } from '#conductor/networks/switches/command-line/lines/parse-answer.ts';
import {
  defaultVlan,
  shownTrunkList,
  trunkAsShown,
  trunkVlans,
} from '#conductor/networks/switches/command-line/lines/switchport-lines.ts';
import { switchportWords } from '#conductor/networks/switches/command-line/lines/switchport-words.ts';

/** Reads ports of Cisco IOS-XE and IOS from their lines and from `show interfaces switchport`. Pure. */

export const voiceLine = 'switchport voice vlan';
export const encapsulationLine = 'switchport trunk encapsulation';
const words: KnownWords = {
  ...switchportWords,
  networks: [...switchportWords.networks, /^switchport trunk encapsulation dot1q$/],
  // an application port of a 9410R, and Bluetooth
  apart: [...switchportWords.apart, /^enable$/],
};
/** Leads to applications that run on the switch. */
const applicationPort = /^AppGigabitEthernet/;

/** Beginnings of the lines that are asked for with those below them; `end` is a configuration's last line. */
const askedLines = ['interface', 'monitor session', 'vlan dot1q tag native', 'end'];
export const configCommand = commandFor(askedLines);

/** Composes the command for the lines that begin so, with those below them. */
export function commandFor(words: readonly string[]): string {
  return `show running-config | section ${words.map((each) => `^${each}`).join('|')}`;
}

/** @throws AppError `switch_error` for an answer to such a command that stops short: what it lacks is not known */
export function requireIosEnd(config: string): void {
  const lines = config.split('\n').filter((line) => line.trim() !== '' && !isLogged(line));
  if (lines.at(-1)?.trim() !== 'end') throw notUnderstood('does not end with "end", as a configuration does', config);
}

/**
 * Holds the configuration against its form. Lines before its first section are the command's own: `Load for five secs: …`. A
 * banner, whose lines may begin as those that are asked for, stands behind the interfaces.
 * @throws AppError `switch_error` for a text of another kind, one with another line amid its own, and one that stops short
 */
export function requireIosConfig(config: string): void {
  const lines = config.split('\n').filter((line) => line.trim() !== '' && !isLogged(line));
  const isPart = (line: string): boolean => /^(\s|!)/.test(line) || askedLines.some((words) => line.startsWith(words));
  const odd = lines.slice(lines.findIndex((line) => line.startsWith('interface '))).filter((line) => !isPart(line));
  requireIosEnd(config);
  if (odd.length > 0) throw notUnderstood('has lines amid its interfaces that are not known', odd.join('\n'));
}

/** Lines of sessions that copy frames, and those below them. */
export function linesOfMonitors(config: string): string[] {
  let isMonitor = false;
  return config.split('\n').flatMap((line) => {
    if (/^\S/.test(line) && !isLogged(line)) isMonitor = line.startsWith('monitor session ');
    return isMonitor ? line.trim() : [];
  });
}

/** From a block of `show interfaces switchport`. */
export interface ShownPort {
  readonly isSwitchport: boolean;
  /** `static access`, `trunk`, `down`, `tunnel` … */
  readonly mode: string | undefined;
  readonly encapsulation: string | undefined;
  readonly accessVlan: number | undefined;
  readonly voiceVlan: string | undefined;
  /** `NONE`, `ALL`, `10,20-22` */
  readonly trunkList: string | undefined;
  /** Whether the native VLAN goes with a tag. */
  readonly isNativeTagged: boolean;
}

export function shownPorts(text: string, longName: (name: string) => string): Map<string, ShownPort> {
  const blocks = text.split(/^(?=Name: )/m);
  return new Map(
    blocks.flatMap((block) => {
      const field = (name: string): string | undefined => new RegExp(`^${name}: *(.*?) *$`, 'm').exec(block)?.[1];
      const name = field('Name');
      if (name === undefined) return [];
      const shown: ShownPort = {
        isSwitchport: field('Switchport') === 'Enabled',
        mode: field('Operational Mode'),
        encapsulation: field('Administrative Trunking Encapsulation'),
        accessVlan: readVlan(/^\d+/.exec(field('Access Mode VLAN') ?? '')?.[0]),
        voiceVlan: field('Voice VLAN'),
        trunkList: shownTrunkList(block),
        isNativeTagged: field('Operational Native VLAN tagging') === 'enabled',
      };
      return [[longName(name), shown] as const];
    }),
  );
}

/** Whether the port does otherwise than its lines say: a template, a login by 802.1X or a session of SPAN has set it. */
function contradicts(lines: readonly string[], shown: ShownPort | undefined, isNativeTagged: boolean): boolean {
  if (!shown) return false;
  const { isSwitchport, mode, accessVlan, voiceVlan = 'none' } = shown;
  if (voiceVlan !== 'none' || isSwitchport === lines.includes('no switchport') || mode === undefined) return true;
  if (mode.startsWith('down')) return false;
  if (lines.includes('switchport mode trunk'))
    return !mode.startsWith('trunk') || (shown.isNativeTagged && !isNativeTagged);
  return !mode.startsWith('static access') || accessVlan !== vlanAfter(lines, 'switchport access vlan', defaultVlan);
}

export function readIosPorts(
  sections: ReadonlyMap<string, readonly string[]>,
  shown: ReadonlyMap<string, ShownPort>,
  isNativeTagged: boolean,
  mirrorsOf: (portId: string) => readonly string[],
) {
  const all = [...sections].map(([portId, lines]) => [portId, [...lines, ...mirrorsOf(portId)]] as const);
  return {
    ...knownPorts(all, words, (lines, portId) =>
      contradicts(lines, shown.get(portId), isNativeTagged)
        ? 'other'
        : vlansOf(lines, shown.get(portId), isNativeTagged),
    ),
    carried: carriedBy(sections, (lines, portId) => carriedVlans(lines, portId, shown)),
  };
}

/** Routed ports carry no VLAN of the switch; those that nobody has set and phones' ports carry a few. */
function carriedVlans(
  lines: readonly string[],
  portId: string,
  shown: ReadonlyMap<string, ShownPort>,
): readonly (number | undefined)[] | undefined {
  const its = shown.get(portId);
  // a trunk of all VLANs uses none: those that an application is in, its own lines name
  if (applicationPort.test(portId) && lines.every((line) => !/^switchport (access|trunk) /.test(line))) return [];
  const isRouted = lines.some((line) => /^(no switchport|(ip )?vrf forwarding .*|ip address .*)$/.test(line));
  if (isRouted || (shown.size > 0 && !its)) return [];
  const odd = /^switchport mode (?!access)|^switchport access vlan (?!\d+$)|^channel-group/;
  if (lines.some((line) => odd.test(line)) || its?.mode?.startsWith('trunk')) return undefined;
  const phones = lines.filter((line) => line.startsWith(voiceLine));
  if (phones.length === 0 && its?.voiceVlan !== undefined && its.voiceVlan !== 'none') return undefined;
  const access = its ? its.accessVlan : vlanAfter(lines, 'switchport access vlan', defaultVlan);
  return [access, ...phones.map((line) => readVlan(line.slice(voiceLine.length + 1)))];
}

function vlansOf(lines: readonly string[], shown: ShownPort | undefined, isNativeTagged: boolean): FoundVlans {
  if (lines.includes('no switchport') || describedIn(lines).isDown) return 'other';
  if (lines.includes('switchport mode trunk')) return trunkAsShown(trunkVlans(lines, isNativeTagged), shown?.trunkList);
  const access = vlanAfter(lines, 'switchport access vlan', defaultVlan);
  return lines.includes('switchport mode access') && access !== undefined ? portVlans(access) : 'other';
}
