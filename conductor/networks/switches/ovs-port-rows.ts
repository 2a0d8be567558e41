import {
  type FoundVlans,
  isIsolated,
  isolated,
  type PortVlans,
  portVlans,
  readVlan,
} from '#conductor/model/port-vlans.ts';
import type { OvsdbOperation } from '#conductor/networks/switches/ovsdb-client.ts';

/** Translates a port's VLANs to the columns of Open vSwitch's table `Port`, and the other way round. Pure. */

export const deadTrunk = 4095;
/** Marks a port whose `protected` was set before Baton isolated it. */
const wasProtected = ['map', [['baton-was-protected', 'true']]] as const;
const emptySet = ['set', []] as const;

/** A port, or a bond, by its name. */
interface VlansOfPort {
  readonly portId: string;
  readonly vlans: PortVlans;
}

export function changePort({ portId, vlans }: VlansOfPort): OvsdbOperation[] {
  const table = 'Port';
  const port = ['name', '==', portId];
  if (isIsolated(vlans)) {
    const dead = { vlan_mode: 'trunk', trunks: ['set', [deadTrunk]], tag: emptySet, protected: true };
    const notYet = [port, ['protected', '==', true], ['trunks', '!=', deadTrunk]];
    return [
      { op: 'mutate', table, where: notYet, mutations: [['external_ids', 'insert', wasProtected]] },
      { op: 'update', table, where: [port], row: dead },
    ];
  }
  const protectedByUs = [port, ['trunks', '==', deadTrunk], ['external_ids', 'excludes', wasProtected]];
  return [
    { op: 'update', table, where: protectedByUs, row: { protected: false } },
    { op: 'mutate', table, where: [port], mutations: [['external_ids', 'delete', wasProtected]] },
    { op: 'update', table, where: [port], row: rowOf(vlans) },
  ];
}

/** Describes a setting as one would type it. */
export function describeSetting({ portId, vlans }: VlansOfPort): string {
  const { untagged, tagged } = vlans;
  const columns = isIsolated(vlans)
    ? ['vlan_mode=trunk', `trunks=${deadTrunk}`, 'tag=[]', 'protected=true']
    : [
        `vlan_mode=${modeOf(vlans)}`,
        `tag=${untagged ?? '[]'}`,
        `trunks=${tagged.join(',') || '[]'}`,
        'protected=false',
      ];
  return `ovs-vsctl set port ${portId} ${columns.join(' ')}`;
}

function modeOf({ untagged, tagged }: PortVlans): string {
  if (tagged.length === 0) return 'access';
  return untagged === undefined ? 'trunk' : 'native-untagged';
}

/** A trunk of no VLANs is one of all, and carries its native VLAN whether or not it lists it. */
function rowOf(vlans: PortVlans): Record<string, unknown> {
  return { vlan_mode: modeOf(vlans), tag: vlans.untagged ?? emptySet, trunks: ['set', vlans.tagged] };
}

/** Asked with ports: what a mirror copies goes to its output, whatever VLANs that has. */
export const selectMirrors: OvsdbOperation = { op: 'select', table: 'Mirror', where: [], columns: ['output_port'] };

/** Uuids of the ports that mirrors send to. */
export function mirrorOutputs(mirrors: Record<string, unknown> | undefined): ReadonlySet<string> {
  return new Set(rowsOf(mirrors).flatMap((row) => atomsOf(row['output_port'])));
}

/** @param outputs uuids of ports that mirrors send to */
export function vlansOf(row: Readonly<Record<string, unknown>>, outputs: ReadonlySet<string> = new Set()): FoundVlans {
  if (outputs.has(uuidOf(row['_uuid']))) return 'other';
  const [mode] = atoms(row['vlan_mode']);
  const [tag] = atoms(row['tag']).map(Number);
  const trunks = atoms(row['trunks']).map(Number);
  const isDead = mode === 'trunk' && trunks.length === 1 && trunks[0] === deadTrunk && row['protected'] === true;
  if (isDead) return isolated;
  // VLAN 0 is what has no tag: the port is in all that is not tagged
  if ([...(tag === undefined ? [] : [tag]), ...trunks].some((vlan) => readVlan(vlan) === undefined)) return 'other';
  // without a mode, a tag makes an access port
  if (tag !== undefined && (mode === 'access' || mode === undefined)) return portVlans(tag);
  if (trunks.length === 0) return 'other';
  if (mode === 'trunk' && tag === undefined) return portVlans(undefined, trunks);
  return mode === 'native-untagged' && tag !== undefined ? portVlans(tag, trunks) : 'other';
}

/** A set's members: a set of one is written as the atom itself (RFC 7047 §5.1). */
export function atoms(value: unknown): unknown[] {
  return Array.isArray(value) && value[0] === 'set' ? (value[1] as unknown[]) : [value];
}

export function rowsOf(result: Record<string, unknown> | undefined): Record<string, unknown>[] {
  return Array.isArray(result?.['rows']) ? (result['rows'] as Record<string, unknown>[]) : [];
}

export function uuidOf(atom: unknown): string {
  return Array.isArray(atom) ? String(atom[1]) : String(atom);
}

export function atomsOf(value: unknown): string[] {
  // a set of one uuid is written as the atom, which is a list too
  return (Array.isArray(value) && value[0] === 'uuid' ? [value] : atoms(value)).map(uuidOf);
}
