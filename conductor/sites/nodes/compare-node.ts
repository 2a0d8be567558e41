import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { findDriver } from '#conductor/drivers/table/driver-table.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import type { JsonPatch } from '#conductor/kernel/json-patch.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { followDriver } from '#conductor/nodes/change/change-node.ts';
import type { Site, SiteNode, SitePort } from '#conductor/sites/site.ts';

/** A node as it is, its secrets open. */
export type KnownNode = Pick<
  NodeRow,
  | 'uuid'
  | 'driver'
  | 'driverInfo'
  | 'networkInterface'
  | 'deployInterface'
  | 'interfaces'
  | 'properties'
  | 'extra'
  | 'resourceClass'
  | 'conductorGroup'
  | 'raidConfig'
  | 'targetRaidConfig'
>;

/** Changes that would bring a node in line with its document, in the words of the API. */
export interface NodeChanges {
  /** Changes of which machine it is and how it is reached. */
  readonly patch: JsonPatch;
  /** Rack, tags, labels, resource class: what `relabel_nodes` changes, too. */
  readonly relabelling: JsonPatch;
  readonly newPorts: readonly SitePort[];
  readonly portChanges: readonly { readonly uuid: string; readonly address: string; readonly patch: JsonPatch }[];
  /** All that it shall have; absent = they are the same. */
  readonly traits?: readonly string[];
  readonly targetRaid?: JsonObject;
  /** Addresses in the document that are ports of other nodes. */
  readonly taken: readonly { readonly address: string; readonly nodeUuid: string }[];
}

/**
 * Compares a node with its document. Fields that the document does not have are left as they are: operators and
 * inspection write there, too. Pure.
 * @param driverInfo of the document, with the login
 * @param ports of the node, and of other nodes with an address of the document
 */
export function compareNode(
  wanted: SiteNode,
  driverInfo: JsonObject,
  known: { readonly node: KnownNode; readonly ports: readonly PortRow[]; readonly traits: readonly string[] },
): NodeChanges {
  const { node, traits } = known;
  const own = known.ports.filter((port) => port.nodeUuid === node.uuid);
  const byAddress = new Map(known.ports.map((port) => [port.address, port]));
  const { conductorGroup } = wanted;
  const access = changedKeys('driver_info', driverInfo, node.driverInfo);
  return {
    patch: [
      ...(wanted.driver === node.driver ? [] : [...followDriver(wanted.driver, node), add('driver', wanted.driver)]),
      // all of it: to another address goes only a password that is written again
      ...(access.length > 0 ? Object.entries(driverInfo).map(([key, value]) => addIn('driver_info', key, value)) : []),
      ...forgetOldAccess(wanted.driver, node),
      ...changedKeys('properties', machineProperties(wanted, node), node.properties),
      ...(conductorGroup === undefined || sameGroup(conductorGroup, node.conductorGroup)
        ? []
        : [add('conductor_group', conductorGroup)]),
    ],
    relabelling: relabel(wanted, node),
    newPorts: wanted.ports.filter(({ address }) => !byAddress.has(address)),
    portChanges: wanted.ports.flatMap((port) => {
      const row = own.find(({ address }) => address === port.address);
      const patch = row ? changePort(port, row) : [];
      return row && patch.length > 0 ? [{ uuid: row.uuid, address: row.address, patch }] : [];
    }),
    ...(isDeepStrictEqual([...new Set(wanted.traits)].sort(), [...traits].sort()) ? {} : { traits: wanted.traits }),
    ...(wanted.targetRaid && !isDeepStrictEqual(plain(wanted.targetRaid), node.targetRaidConfig)
      ? { targetRaid: wanted.targetRaid }
      : {}),
    taken: wanted.ports.flatMap(({ address }) => {
      const row = byAddress.get(address);
      return row && row.nodeUuid !== node.uuid ? [{ address, nodeUuid: row.nodeUuid }] : [];
    }),
  };
}

/** `driver_info`, `properties/rack`, `port 52:54:00:00:00:01`, `traits`: where, never what. Pure. */
export function nameChanges(changes: NodeChanges): string[] {
  const fields = [...changes.patch, ...changes.relabelling].map(({ path }) => path.slice(1));
  const addresses = [...changes.newPorts, ...changes.portChanges].map(({ address }) => `port ${address}`);
  return [
    ...new Set(fields.map((field) => (field.startsWith('driver_info/') ? 'driver_info' : field))),
    ...addresses,
    ...(changes.traits ? ['traits'] : []),
    ...(changes.targetRaid ? ['target_raid_config'] : []),
  ];
}

/** `properties` and `extra` of a node that is enrolled from its document. Pure. */
export function describedDocuments(wanted: SiteNode): { readonly properties: JsonObject; readonly extra: JsonObject } {
  return {
    properties: { ...wanted.properties, ...(wanted.rack === undefined ? {} : { rack: wanted.rack }) },
    extra: labelsOf(wanted),
  };
}

/** For people, and for clients that look for nodes; selectors of the site go by the documents. */
function labelsOf({ tags, labels }: SiteNode): JsonObject {
  return { tags: [...tags], labels: { ...labels } };
}

function relabel(wanted: SiteNode, node: KnownNode): JsonPatch {
  const { rack } = wanted;
  return [
    ...(rack === undefined ? [] : changedKeys('properties', { rack }, node.properties)),
    ...changedKeys('extra', labelsOf(wanted), node.extra),
    ...(wanted.resourceClass === node.resourceClass ? [] : [add('resource_class', wanted.resourceClass)]),
  ];
}

/** Where another driver found the BMC, and its login: the node's new driver has no use for them. */
function forgetOldAccess(driver: string, node: KnownNode): JsonPatch {
  if (driver === node.driver) return [];
  const kept = findDriver(driver)?.fields ?? {};
  return Object.keys(findDriver(node.driver)?.fields ?? {})
    .filter((key) => Object.hasOwn(node.driverInfo, key) && !Object.hasOwn(kept, key))
    .map((key) => ({ op: 'remove', path: `/driver_info/${key}` }));
}

/** Building RAID writes the root device, inspection the boot mode: those hold from then on. */
function machineProperties(wanted: SiteNode, node: KnownNode): JsonObject {
  const { root_device: root, capabilities, ...others } = wanted.properties;
  const isBuilt = Array.isArray(node.raidConfig['logical_disks']);
  const merged = mergeCapabilities(capabilities, node.properties['capabilities']);
  return {
    ...others,
    ...(root === undefined || isBuilt ? {} : { root_device: root }),
    ...(merged === undefined ? {} : { capabilities: merged }),
  };
}

/** `name:value,name:value`: those of the document, and beside them those that the node has already. */
function mergeCapabilities(wanted: unknown, known: unknown): unknown {
  if (typeof wanted !== 'string' || typeof known !== 'string') return wanted;
  const split = (text: string) =>
    text
      .split(',')
      .map((each) => each.trim())
      .filter((each) => each !== '');
  const nameOf = (capability: string) => capability.split(':')[0];
  const asked = split(wanted);
  const present = split(known);
  if (asked.every((each) => present.includes(each))) return known;
  const names = new Set(asked.map(nameOf));
  return [...present.filter((each) => !names.has(nameOf(each))), ...asked].join(',');
}

function changePort(wanted: SitePort, row: PortRow): JsonPatch {
  const { localLinkConnection: link, physicalNetwork } = wanted;
  return [
    ...(wanted.pxeEnabled === row.pxeEnabled ? [] : [add('pxe_enabled', wanted.pxeEnabled)]),
    ...(link === undefined || isDeepStrictEqual(plain(link), row.localLinkConnection)
      ? []
      : [add('local_link_connection', link)]),
    ...(physicalNetwork === undefined || physicalNetwork === row.physicalNetwork
      ? []
      : [add('physical_network', physicalNetwork)]),
  ];
}

function changedKeys(document: string, wanted: JsonObject, known: JsonObject): JsonPatch {
  return Object.entries(wanted)
    .filter(([key, value]) => value !== undefined && !isDeepStrictEqual(plain(value), known[key]))
    .map(([key, value]) => addIn(document, key, value));
}

const sameGroup = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

function add(field: string, value: unknown): JsonPatch[number] {
  return { op: 'add', path: `/${field}`, value };
}

function addIn(document: string, key: string, value: unknown): JsonPatch[number] {
  return { op: 'add', path: `/${document}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`, value };
}

/** Makes a value as it comes back from the database. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

/**
 * SHA-256 of what a node's deploy depends on: image, config drive, networks, RAID, BIOS settings, and the plugins (by
 * what they do, too: a version may be deleted and uploaded again) with the roles by which they choose nodes. Rack and labels are not of it: they are changed without a deploy. Pure.
 */
export function designHash(site: Pick<Site, 'plugins'>, node: SiteNode): string {
  const design = {
    instanceInfo: node.instanceInfo,
    configDrive: node.configDrive,
    networks: node.ports.map(({ address, network }) => [address, network ?? null]),
    targetRaid: node.targetRaid,
    biosSettings: node.biosSettings,
    plugins: site.plugins.map(({ name, version, content }) => [name, version, ...(content ? [content] : [])]),
    roles: site.plugins.length > 0 ? [...node.tags].sort() : [],
  };
  return createHash('sha256').update(JSON.stringify(design, sortKeys)).digest('hex');
}

/** The database gives an object's keys in another order than a document has them. */
function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
