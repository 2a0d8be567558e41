import type { LldpPort, SwitchDriver } from '#conductor/networks/switch-driver.ts';

/**
 * Compares what is recorded of a cable with what a switch says that no networks file lists, and whose forms of names nobody
 * has fixed: Neutron's mechanism drivers have theirs, LLDP has others. Pure.
 */

/** `unknown`: these are not names of one kind, which says neither that they mean one thing nor that they mean two. */
export type Comparison = 'same' | 'other' | 'unknown';

/** A neighbour as it describes itself. */
export interface LldpNeighbour extends LldpPort {
  readonly chassisId: string;
  readonly systemName?: string | undefined;
  readonly systemDescription?: string | undefined;
  readonly managementAddresses: readonly string[];
}

type NamingDriver = Pick<SwitchDriver, 'portIdOf' | 'aliasesInLldp'>;

/**
 * Compares a switch by its addresses and its name.
 * @param recorded `switch_id`
 * @param info `switch_info`, the switch's name
 * @param isChassisIdPerPort whether another card of one switch has another chassis id
 */
export function compareSwitches(
  recorded: string,
  info: string | undefined,
  { chassisId, systemName, managementAddresses }: LldpNeighbour,
  isChassisIdPerPort: boolean,
): Comparison {
  const names = [chassisId, ...(systemName === undefined ? [] : [systemName])];
  if ([...names, ...managementAddresses].some((each) => sameSwitch(recorded, each))) return 'same';
  if (names.some((each) => sameHost(recorded, each))) return 'same';
  // its name is the recorded one: another card of it may speak
  if (info !== undefined && systemName !== undefined && sameHost(info, systemName)) return 'unknown';
  return !isChassisIdPerPort && isMac(recorded) && isMac(chassisId) ? 'other' : 'unknown';
}

/**
 * Compares a port in the forms of all drivers that there are.
 * @param recorded `port_id`
 */
export function comparePorts(recorded: string, heard: LldpNeighbour, drivers: readonly NamingDriver[]): Comparison {
  const { portId, description = '', systemDescription = '' } = heard;
  // a description is anybody's words: those of a port that is recorded are its name, others say nothing
  if ([portId, description].some((each) => each !== '' && sameSwitchPort(recorded, each))) return 'same';
  if (isMac(recorded) && isMac(portId)) return 'other';
  const forms = drivers.filter(hasForm).flatMap(({ portIdOf }) => {
    const [one, two] = [recorded, portId].map((said) => portIdOf?.({ portId: said }));
    return one === undefined || two === undefined ? [] : [{ one, two }];
  });
  if (forms.some(({ one, two }) => one.toLowerCase() === two.toLowerCase())) return 'same';
  if (drivers.some(({ aliasesInLldp }) => aliasesInLldp?.test(systemDescription))) return 'unknown';
  // `Ethernet4` and `Ethernet1/1` may be two names of one port
  const isOther = forms.some(({ one, two }) => depth(one) === depth(two)) || sameShape(recorded, portId);
  return isOther ? 'other' : 'unknown';
}

/** A driver that takes any word for a port has no form of its own. */
function hasForm({ portIdOf }: NamingDriver): boolean {
  return portIdOf !== undefined && portIdOf({ portId: 'anything' } satisfies LldpPort) === undefined;
}

function depth(name: string): number {
  return name.match(/\d+/g)?.length ?? 0;
}

/** Names that differ in their numbers alone: `port7` and `port8`; numbers without a word may count anything. */
function sameShape(one: string, other: string): boolean {
  const [shape, otherShape] = [one, other].map((each) => each.toLowerCase().replaceAll(/\d+/g, '0'));
  return shape === otherShape && /[a-z]/.test(shape ?? '') && !isMac(one) && !isMac(other);
}

/** Compares identities of switches: case, and the way in which a MAC address is written, don't count. */
export function sameSwitch(one: string, other: string): boolean {
  return identity(one) === identity(other);
}

/** `001c.7300.0001`, `001c-7300-0001`, `001c73-000001`, `001c73000001`, `0:1c:73:0:0:1` */
const macForms = [
  /^[0-9a-f]{1,2}([:-])(?:[0-9a-f]{1,2}\1){4}[0-9a-f]{1,2}$/,
  /^[0-9a-f]{4}([.:-])[0-9a-f]{4}\1[0-9a-f]{4}$/,
  /^[0-9a-f]{6}[:-]?[0-9a-f]{6}$/,
];

function isMac(text: string): boolean {
  return macForms.some((form) => form.test(text.toLowerCase()));
}

function identity(text: string): string {
  if (!isMac(text)) return text.toLowerCase();
  const parts = text.toLowerCase().split(/[.:-]/);
  return parts.map((part) => (parts.length === 6 ? part.padStart(2, '0') : part)).join('');
}

/** `leaf1` is `leaf1.example.com`. */
function sameHost(one: string, other: string): boolean {
  const [short, long] = [one.toLowerCase(), other.toLowerCase()].sort((a, b) => a.length - b.length);
  return short === long || (!/[.:]/.test(short ?? '.') && long?.split('.')[0] === short);
}

/** Compares names of ports: `Gi1/0/1` is `GigabitEthernet1/0/1`. */
function sameSwitchPort(one: string, other: string): boolean {
  const [short, long] = [one.toLowerCase(), other.toLowerCase()].sort((a, b) => a.length - b.length);
  if (short === long) return true;
  if (isMac(one) && isMac(other)) return sameSwitch(one, other);
  const [brief, full] = [partsOf(short ?? ''), partsOf(long ?? '')];
  return brief !== undefined && full?.number === brief.number && full.kind.startsWith(brief.kind);
}

function partsOf(name: string): { readonly kind: string; readonly number: string } | undefined {
  const [, kind, number] = /^([a-z]+(?:-[a-z]+)*) ?(\d[\d/:.]*)$/.exec(name) ?? [];
  return kind === undefined || number === undefined ? undefined : { kind, number };
}
