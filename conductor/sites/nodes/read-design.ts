import { and, eq } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { isAmong } from '#conductor/kernel/db/query/statement.ts';
import { type NodeRow, nodes } from '#conductor/kernel/db/schema/node.ts';
import { biosSettings, nodeVifs } from '#conductor/kernel/db/schema/node-parts.ts';
import { type PortRow, ports } from '#conductor/kernel/db/schema/port.ts';
import { volumeTargets } from '#conductor/kernel/db/schema/volume.ts';
import { openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import type { RequestedStep } from '#conductor/model/flows/planned-step.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { Vif } from '#conductor/networks/vifs/place-vifs.ts';
import { hasFakeDeploy, interfaceOf } from '#conductor/nodes/node-interfaces.ts';
import { listTraits } from '#conductor/nodes/traits.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { type Credential, openCredential, withLogin } from '#conductor/sites/credentials.ts';
import { compareNode, type NodeChanges } from '#conductor/sites/nodes/compare-node.ts';
import { type DeployContext, whyUndeployable } from '#conductor/sites/nodes/why-undeployable.ts';
import type { SiteNode } from '#conductor/sites/site.ts';

export type DesignContext = Pick<SitesContext, 'db' | 'secrets'> & DeployContext;

/** A node beside its document. */
export interface NodeDesign {
  readonly row: NodeRow;
  readonly changes: NodeChanges;
  /** Why the document can't hold for this node. */
  readonly impossible?: string;
  /** Why a deploy from the document would be refused. */
  readonly undeployable?: string;
  /** Manual cleaning that RAID and BIOS settings still need. */
  readonly hardware: readonly RequestedStep[];
  readonly needsInspection: boolean;
  /** Networks attached. */
  readonly vifs: readonly Vif[];
}

/**
 * Nodes with all that their documents speak of, by name: some statements for all of them, however many they are. Those
 * that are not enrolled are absent.
 */
export async function readDesigns(
  context: DesignContext,
  wanted: readonly SiteNode[],
): Promise<Map<string, NodeDesign>> {
  const { db, secrets } = context;
  if (wanted.length === 0) return new Map();
  const names = wanted.map(({ name }) => name);
  const rows = await db.select().from(nodes).where(isAmong(nodes.name, names));
  if (rows.length === 0) return new Map();
  const uuids = rows.map(({ uuid }) => uuid);
  const known = await readSurroundings(db, { wanted, uuids });
  const credentials = await openCredentials(context, wanted);
  const byName = new Map(wanted.map((node) => [node.name, node]));
  const designs = rows.flatMap((row) => {
    const node = byName.get(row.name ?? '');
    if (!node) return [];
    const driverInfo = withLogin(node, credentials);
    const open = { ...row, driverInfo: openNodeDocument(secrets, row, 'driverInfo') };
    const changes = compareNode(node, driverInfo, {
      node: open,
      ports: known.portsOf(row.uuid, node),
      traits: known.traits.get(row.uuid) ?? [],
    });
    const impossible = whyImpossible(node, changes, { credentials, nameOf: known.nameOf });
    const ports = known.portsOf(row.uuid, node).filter(({ nodeUuid }) => nodeUuid === row.uuid);
    const undeployable = whyUndeployable(context, node, { row, ports, hasVolume: known.volumes.has(row.uuid) });
    const design: NodeDesign = {
      row,
      changes,
      ...(undeployable === undefined ? {} : { undeployable }),
      ...(impossible === undefined ? {} : { impossible }),
      hardware: hardwareSteps(node, { raidConfig: row.raidConfig, biosSettings: known.settings(row.uuid) }),
      // no agent ever comes to a machine that is only pretended
      needsInspection:
        row.inspectionFinishedAt === null &&
        !hasFakeDeploy(row) &&
        !['fake', 'no-inspect'].includes(interfaceOf(row, 'inspect')),
      vifs: known.vifsOf(row.uuid),
    };
    return [[node.name, design] as const];
  });
  return new Map(designs);
}

async function readSurroundings(
  db: Queryable,
  { wanted, uuids }: { readonly wanted: readonly SiteNode[]; readonly uuids: readonly string[] },
) {
  const addresses = wanted.flatMap((node) => node.ports.map(({ address }) => address));
  const asksBios = wanted.some((node) => (node.biosSettings ?? []).length > 0);
  const [ownPorts, sameAddresses, traits, vifRows, settingRows, volumeRows] = await Promise.all([
    db.select().from(ports).where(isAmong(ports.nodeUuid, uuids)),
    db
      .select({ port: ports, name: nodes.name })
      .from(ports)
      .innerJoin(nodes, eq(nodes.uuid, ports.nodeUuid))
      .where(isAmong(ports.address, addresses)),
    listTraits(db, uuids),
    db
      .select({
        nodeUuid: nodeVifs.nodeUuid,
        id: nodeVifs.vifId,
        portUuid: nodeVifs.portUuid,
        portgroupUuid: nodeVifs.portgroupUuid,
      })
      .from(nodeVifs)
      .where(isAmong(nodeVifs.nodeUuid, uuids)),
    asksBios
      ? db
          .select({ nodeUuid: biosSettings.nodeUuid, name: biosSettings.name, value: biosSettings.value })
          .from(biosSettings)
          .where(isAmong(biosSettings.nodeUuid, uuids))
      : [],
    db
      .select({ nodeUuid: volumeTargets.nodeUuid })
      .from(volumeTargets)
      .where(and(isAmong(volumeTargets.nodeUuid, uuids), eq(volumeTargets.bootIndex, 0))),
  ]);
  const portsByNode = Map.groupBy(ownPorts, ({ nodeUuid }) => nodeUuid);
  const portsByAddress = new Map(sameAddresses.map(({ port }) => [port.address, port]));
  const owners = new Map(sameAddresses.map(({ port, name }) => [port.nodeUuid, name]));
  const settingsByNode = Map.groupBy(settingRows, ({ nodeUuid }) => nodeUuid);
  const vifs = Map.groupBy(vifRows, ({ nodeUuid }) => nodeUuid);
  return {
    traits,
    /** Nodes that boot from one. */
    volumes: new Set(volumeRows.map(({ nodeUuid }) => nodeUuid)),
    vifsOf: (uuid: string): Vif[] =>
      (vifs.get(uuid) ?? []).map(({ id, portUuid, portgroupUuid }) => ({ id, portUuid, portgroupUuid })),
    settings: (uuid: string) => new Map((settingsByNode.get(uuid) ?? []).map(({ name, value }) => [name, value])),
    nameOf: (uuid: string): string => owners.get(uuid) ?? uuid,
    /** Its own, and those of others with an address of its document. */
    portsOf: (uuid: string, node: SiteNode): PortRow[] => [
      ...(portsByNode.get(uuid) ?? []),
      ...node.ports
        .flatMap(({ address }) => portsByAddress.get(address) ?? [])
        .filter((port) => port.nodeUuid !== uuid),
    ],
  };
}

/** Each credential is opened once, however many nodes have it. */
export async function openCredentials(
  context: Pick<SitesContext, 'db' | 'secrets'>,
  wanted: readonly SiteNode[],
): Promise<ReadonlyMap<string, Credential>> {
  const names = new Set(wanted.flatMap(({ credential }) => credential ?? []));
  const opened = new Map<string, Credential>();
  for (const name of names) {
    const credential = await openCredential(context, name);
    if (credential) opened.set(name, credential);
  }
  return opened;
}

/** Why a node can't be enrolled with this credential. Pure. */
export function whyNoLogin(node: SiteNode, credentials: ReadonlyMap<string, Credential>): string | undefined {
  if (node.credential === undefined || credentials.has(node.credential)) return undefined;
  return `its document names the credential '${node.credential}', which Baton does not have`;
}

function whyImpossible(
  node: SiteNode,
  { taken }: NodeChanges,
  {
    credentials,
    nameOf,
  }: { readonly credentials: ReadonlyMap<string, Credential>; readonly nameOf: (uuid: string) => string },
): string | undefined {
  const [port] = taken;
  if (port) return `port ${port.address} of its document belongs to node ${nameOf(port.nodeUuid)}`;
  return whyNoLogin(node, credentials);
}

/** Values of RAID and BIOS that are known. */
interface KnownHardware {
  /** RAID configuration as the agent has built it. */
  readonly raidConfig: JsonObject;
  /** BIOS settings as last read, by name. */
  readonly biosSettings: ReadonlyMap<string, string | null>;
}

/**
 * Steps of manual cleaning that make RAID and BIOS what the documents say; those are left out that are known to change
 * nothing. BIOS first: it may decide how disks are seen. Pure.
 */
export function hardwareSteps(
  wanted: Pick<SiteNode, 'targetRaid' | 'biosSettings'>,
  known: KnownHardware,
): RequestedStep[] {
  const settings = (wanted.biosSettings ?? []).filter(({ name, value }) => known.biosSettings.get(name) !== value);
  const bios = settings.length > 0 ? [step('bios', 'apply_configuration', { settings })] : [];
  const isBuilt = !wanted.targetRaid || isAsWanted(wanted.targetRaid, known.raidConfig);
  const raid = isBuilt ? [] : [step('raid', 'delete_configuration'), step('raid', 'create_configuration')];
  return [...bios, ...raid];
}

function step(kind: string, name: string, args: JsonObject = {}): RequestedStep {
  return { interface: kind, step: name, args, priority: 0 };
}

/**
 * Compares RAID configurations: what was built has a size in place of `MAX`, and names of its own for volumes that had
 * none.
 */
function isAsWanted(target: JsonObject, built: JsonObject): boolean {
  const wanted = disksOf(target);
  const found = disksOf(built);
  return wanted.length === found.length && wanted.every((disk, index) => isDisk(disk, found[index] ?? {}));
}

function isDisk(wanted: JsonObject, found: JsonObject): boolean {
  if (wanted['raid_level'] !== found['raid_level']) return false;
  if (wanted['size_gb'] !== 'MAX' && wanted['size_gb'] !== found['size_gb']) return false;
  return wanted['volume_name'] === undefined || wanted['volume_name'] === found['volume_name'];
}

function disksOf(config: JsonObject): readonly JsonObject[] {
  const disks = config['logical_disks'];
  return Array.isArray(disks) ? (disks as JsonObject[]) : [];
}
