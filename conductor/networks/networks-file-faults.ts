import { z } from 'zod';
import { networkPurposes } from '#conductor/model/network-purposes.ts';
import type { Bonds } from '#conductor/networks/bonds.ts';
import { sameSwitch } from '#conductor/networks/compare-places.ts';
import { loginFaults } from '#conductor/networks/login-faults.ts';
import type { SwitchDriver } from '#conductor/networks/switch-driver.ts';

export type KnownDriver = Pick<SwitchDriver, 'name' | 'transports' | 'bonds' | 'removesVlans'>;

const legibleText = z.string().optional().catch(undefined);
/** Parts that can be read out of a file that has faults, so that one round reports them all. */
const Legible = z
  .object({
    switches: z
      .array(
        z
          .looseObject({
            switch_id: legibleText,
            lldp_ids: z.array(z.string()).optional().catch(undefined),
            driver: legibleText,
            username: legibleText,
            bonds: z.record(z.string(), z.array(z.string())).optional().catch(undefined),
            endpoint: legibleText,
            bond_numbers: legibleText,
            pair: legibleText,
          })
          .catch({}),
      )
      .catch([]),
    /** `undefined` = it is not known which there are. */
    networks: z.record(z.string(), z.unknown()).optional().catch(undefined),
    defaults: z.object({ provisioning: legibleText, cleaning: legibleText, tenant: legibleText }).catch({}),
  })
  .catch({ switches: [], networks: undefined, defaults: {} });
type Legible = z.infer<typeof Legible>;

/** Finds faults between the parts of a networks file. @param document as YAML has it */
export function findCrossFaults(document: unknown, knownDrivers: readonly KnownDriver[]): string[] {
  const file = Legible.parse(document);
  const faults: string[] = [];
  const seen = new Map<string, number>();
  for (const [index, entry] of file.switches.entries()) {
    const path = `switches[${index}]`;
    if (entry.driver !== undefined) faults.push(...driverFaults(path, entry.driver, entry, knownDrivers));
    faults.push(...bondsFaults(`${path}.bonds`, entry.bonds ?? {}));
    faults.push(...madeBondFaults(path, entry, file.switches, knownDrivers));
    faults.push(...lldpIdFaults(`${path}.lldp_ids`, entry, file.switches));
    if (entry.switch_id === undefined) continue;
    const id = entry.switch_id.toLowerCase();
    const earlier = seen.get(id);
    if (earlier !== undefined) faults.push(`${path}.switch_id: ${entry.switch_id} is already switches[${earlier}]`);
    else seen.set(id, index);
  }
  if (!file.networks) return faults;
  const names = Object.keys(file.networks);
  for (const purpose of networkPurposes) {
    const wanted = file.defaults[purpose];
    if (wanted !== undefined && !names.includes(wanted)) {
      faults.push(`defaults.${purpose}: network ${wanted} does not exist; networks are: ${names.join(', ') || 'none'}`);
    } else if (wanted !== undefined && purpose !== 'tenant' && isTaggedOnly(file.networks[wanted])) {
      faults.push(`defaults.${purpose}: network ${wanted} has no vlan, and machines boot without tags`);
    }
  }
  return faults;
}

type LegibleSwitch = Legible['switches'][number];

/** An identity that two switches have would put machines at the wrong one. */
function lldpIdFaults(path: string, entry: LegibleSwitch, switches: readonly LegibleSwitch[]): string[] {
  const idsOf = ({ switch_id: id, lldp_ids: more = [] }: LegibleSwitch) => [...(id === undefined ? [] : [id]), ...more];
  const others = switches.filter((each) => each !== entry);
  return (entry.lldp_ids ?? []).flatMap((id) => {
    const other = others.findIndex((each) => idsOf(each).some((same) => sameSwitch(same, id)));
    const at = switches.indexOf(others[other] ?? entry);
    return other === -1 ? [] : [`${path}: ${id} is also what switches[${at}] goes by`];
  });
}

/** Lists faults of bonds that Baton is to make. */
function madeBondFaults(
  path: string,
  entry: LegibleSwitch,
  switches: readonly LegibleSwitch[],
  knownDrivers: readonly KnownDriver[],
): string[] {
  const driver = knownDrivers.find(({ name }) => name === entry.driver);
  const [from = 0, to = 0] = (entry.bond_numbers ?? '').split('-').map(Number);
  const numberOf = (bond: string): number => Number(/\d+$/.exec(bond)?.[0]);
  const inRange = Object.keys(entry.bonds ?? {}).filter((bond) => numberOf(bond) >= from && numberOf(bond) <= to);
  const faults = inRange.map((bond) => `${path}.bonds.${bond}: is one of bond_numbers, which are Baton's`);
  if (driver && !driver.bonds && entry.bond_numbers !== undefined)
    faults.push(`${path}.bond_numbers: driver ${driver.name} makes no bonds; name the switch's own in bonds`);
  const over = /^(\w+):/.exec(entry.endpoint ?? '')?.[1] ?? '';
  const ways: readonly string[] | undefined = driver?.bonds?.transports;
  if (driver && ways && entry.bond_numbers !== undefined && !ways.includes(over))
    faults.push(`${path}.bond_numbers: driver ${driver.name} makes bonds over ${ways.join(' and ')} alone`);
  if (entry.pair === undefined) return faults;
  const same = (one: LegibleSwitch | undefined, id: string | undefined): boolean =>
    id !== undefined && one?.switch_id?.toLowerCase() === id.toLowerCase();
  const other = switches.find((each) => same(each, entry.pair));
  const fault = (message: string) => faults.push(`${path}.pair: ${message}`);
  if (!other) fault(`${entry.pair} is not a switch of the file`);
  else if (other === entry) fault('is the switch itself');
  else if (!same(entry, other.pair)) fault(`${entry.pair} does not name ${entry.switch_id} as its pair`);
  else if (other.bond_numbers !== entry.bond_numbers)
    fault(`${entry.pair} has other bond_numbers, and a pair shares them`);
  else if (driver?.bonds?.pairs.length === 0 && entry.bond_numbers !== undefined)
    fault(`driver ${driver.name} makes no bonds across two switches`);
  return faults;
}

function bondsFaults(path: string, bonds: Bonds): string[] {
  const members = Object.values(bonds).flat();
  return Object.entries(bonds).flatMap(([name, own]) => [
    ...own
      .filter((member, index) => own.indexOf(member) < index || members.indexOf(member) < members.lastIndexOf(member))
      .map((member) => `${path}.${name}: ${member} is a member twice`),
    ...own
      .filter((member) => bonds[member] !== undefined)
      .map((member) => `${path}.${name}: ${member} is a bond itself`),
  ]);
}

function isTaggedOnly(network: unknown): boolean {
  return typeof network === 'object' && network !== null && 'tagged' in network && !('vlan' in network);
}

function driverFaults(
  path: string,
  name: string,
  entry: Readonly<Record<string, unknown>>,
  knownDrivers: readonly KnownDriver[],
): string[] {
  const driver = knownDrivers.find((each) => each.name === name);
  if (!driver) {
    const known = knownDrivers.map((each) => each.name).join(', ');
    return [
      `${path}.driver: unknown driver ${name}; drivers are: ${known}. Without one for a switch, set its ports by hand and give ` +
        'the nodes network_interface flat or noop, or add its operating system (conductor/networks/README.md)',
    ];
  }
  return [...loginFaults(path, driver, entry), ...removalFaults(path, driver, entry)];
}

function removalFaults(
  path: string,
  { name, removesVlans = [] }: KnownDriver,
  entry: Readonly<Record<string, unknown>>,
): string[] {
  if (entry['remove_vlans'] !== true) return [];
  const fault = (message: string): string[] => [`${path}.remove_vlans: ${message}`];
  if (entry['create_vlans'] !== true)
    return fault('only VLANs that Baton has created are removed; set create_vlans: true');
  const over = String(entry['endpoint']).split(':')[0] ?? '';
  if ((removesVlans as readonly string[]).includes(over)) return [];
  return fault(`driver ${name} can't find out over ${over} which VLANs Baton has created, and removes none`);
}
