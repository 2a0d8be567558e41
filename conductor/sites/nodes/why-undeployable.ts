import type { EtcdCluster } from '#conductor/cluster/etcd/etcd-cluster.ts';
import type { EtcdWork } from '#conductor/cluster/etcd/etcd-work.ts';
import { lookAtCluster } from '#conductor/cluster/etcd/look-at-cluster.ts';
import { describeUnclear, matchMembers } from '#conductor/cluster/etcd/match-members.ts';
import { withCluster } from '#conductor/cluster/etcd/open-cluster.ts';
import { planRemoval } from '#conductor/cluster/etcd/plan-removal.ts';
import { ClusterNode, listAll, nodesPath, unknownNode } from '#conductor/cluster/kubernetes/client/objects.ts';
import { withSharedCluster } from '#conductor/cluster/kubernetes/client/share-cluster.ts';
import { findLastReady, findMissingNodeRights } from '#conductor/cluster/kubernetes/guard-changes.ts';
import { rightsError } from '#conductor/cluster/kubernetes/rights.ts';
import { requireBootable } from '#conductor/flows/request/validate-node.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import { parseNetworkInterface, validateNetwork } from '#conductor/networks/network-interfaces.ts';
import type { NetworkPort } from '#conductor/networks/vifs/network-port.ts';
import type { Vif } from '#conductor/networks/vifs/place-vifs.ts';
import { buildImageInfo, checkFetched, checkImageUrls } from '#conductor/nodes/boot/image-info.ts';
import { hasFakeDeploy, keptDeployInterface, keptInterfaces } from '#conductor/nodes/node-interfaces.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { withCredentials } from '#conductor/sites/credentials.ts';
import type { EtcdSite } from '#conductor/sites/revisions/find-design.ts';
import type { SiteNode, SitePort } from '#conductor/sites/site.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { inParallel } from '#shared/in-parallel.ts';

export interface DeployContext {
  readonly config: Pick<SitesContext['config'], 'defaultNetworkInterface' | 'outbound'>;
  readonly networks: Pick<SitesContext['networks'], 'networks'>;
}

/** A node as it is enrolled; absent = it is not. */
interface Enrolled {
  readonly row: NodeRow;
  /** Its own. */
  readonly ports: readonly PortRow[];
  /** It boots from a volume, and needs no image. */
  readonly hasVolume: boolean;
}

/**
 * Why a deploy from this document would be refused, once all else of it has been done: asked before anything is destroyed
 * for it. Pure.
 */
export function whyUndeployable(
  { config, networks: { networks } }: DeployContext,
  wanted: SiteNode,
  enrolled?: Enrolled,
): string | undefined {
  const node = nodeToBe(wanted, enrolled?.row);
  const ports = portsToBe(wanted, enrolled?.ports ?? []);
  const isFake = hasFakeDeploy(node);
  if (!isFake && !enrolled?.hasVolume && !wanted.instanceInfo) {
    return 'its document has no platform.image, or only a name that no baton/Images/v1 explains: there is nothing to deploy';
  }
  if (!isFake && ports.length === 0) {
    return 'its document has no MAC address (interfaces.*.mac, metadata.boot_mac), and the node no port';
  }
  const faults = [
    isFake ? undefined : refusal(() => requireBootable(node, ports)),
    isFake || enrolled?.hasVolume
      ? undefined
      : refusal(() => {
          checkImageUrls(node.instanceInfo, config.outbound.images);
          buildImageInfo(node);
        }),
    refusal(() => checkFetched('config_drive', wanted.configDrive, config.outbound.images)),
    refusal(() => {
      const networkInterface = enrolled?.row.networkInterface ?? config.defaultNetworkInterface;
      const { result, reason } = validateNetwork({
        networkInterface: parseNetworkInterface(networkInterface),
        ports,
        networks,
        vifs: wantedVifs(wanted.ports, ports),
      });
      if (!result) throw new AppError('invalid_argument', reason ?? 'the network is not set up');
    }),
  ].filter((fault) => fault !== undefined);
  return faults.length === 0 ? undefined : `its deploy would be refused: ${faults.join('; ')}`;
}

/** With what its document makes of it. */
function nodeToBe(wanted: SiteNode, row: NodeRow | undefined) {
  const { name, driver } = wanted;
  const chosen = Object.entries(row?.interfaces ?? {}).map(([kind, each]) => [`${kind}_interface`, each]);
  return {
    uuid: row?.uuid ?? name,
    bootMode: row?.bootMode ?? null,
    driver,
    networkInterface: row?.networkInterface ?? '',
    deployInterface: keptDeployInterface(driver, row?.deployInterface),
    interfaces: keptInterfaces(driver, Object.fromEntries(chosen)),
    properties: { ...row?.properties, ...wanted.properties },
    networkData: row?.networkData ?? {},
    raidConfig: row?.raidConfig ?? {},
    targetRaidConfig: wanted.targetRaid ?? row?.targetRaidConfig ?? {},
    instanceInfo: instanceInfoOf(wanted),
  };
}

/** Lists the ports that the node has, as its document has them, and those that are made. */
function portsToBe({ ports: documents }: SiteNode, ports: readonly PortRow[]): NetworkPort[] {
  const known = new Map(ports.map((port) => [port.address, port]));
  const described = documents.map((port) => {
    const row = known.get(port.address);
    return {
      uuid: row?.uuid ?? port.address,
      address: port.address,
      pxeEnabled: port.pxeEnabled,
      portgroupUuid: row?.portgroupUuid ?? null,
      physicalNetwork: port.physicalNetwork ?? row?.physicalNetwork ?? null,
      localLinkConnection: port.localLinkConnection ?? row?.localLinkConnection ?? {},
    };
  });
  const own = new Set(documents.map(({ address }) => address));
  return [...described, ...ports.filter(({ address }) => !own.has(address))];
}

function refusal(attempt: () => void): string | undefined {
  try {
    attempt();
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return errorChain(error);
    throw error;
  }
}

/** Nothing of an earlier instance stays. The traits choose deploy templates; a reservation may be older than they are. */
export function instanceInfoOf(wanted: SiteNode): NodeRow['instanceInfo'] {
  return {
    ...(JSON.parse(JSON.stringify(wanted.instanceInfo ?? {})) as NodeRow['instanceInfo']),
    hostname: wanted.name,
    ...(wanted.traits.length > 0 ? { traits: [...wanted.traits] } : {}),
  };
}

/** The networks attached once it is deployed: one for all of its ports, or one for each. Pure. */
export function wantedVifs(documents: readonly SitePort[], ports: readonly Pick<PortRow, 'uuid' | 'address'>[]): Vif[] {
  const connected = documents.flatMap(({ address, network }) => (network === undefined ? [] : [{ address, network }]));
  const names = [...new Set(connected.map(({ network }) => network))];
  return names.map((id) => {
    const address = connected.find(({ network }) => network === id)?.address;
    const port = names.length > 1 ? ports.find((each) => each.address === address) : undefined;
    return { id, portUuid: port?.uuid ?? null, portgroupUuid: null };
  });
}

/** An operator, or a node's turn, waits for it. Milliseconds. */
const lookMs = 5_000;
const atOnce = 8;

type Context = Pick<SitesContext, 'db' | 'secrets' | 'database'> & {
  readonly config: Pick<SitesContext['config'], 'kubeconfigFile' | 'etcdTlsDirectory'>;
};

/** Nodes that are to leave their clusters, in this order. */
export interface Leaving {
  readonly names: readonly string[];
  /** They don't come back: those before in the list are missing by then. */
  readonly staysOut: boolean;
  /** Leaves out the guard for the last Ready node. */
  readonly force: boolean;
  readonly kubernetes: boolean;
  /** Names of the nodes that the Kubernetes cluster must have. */
  readonly mustBeIn?: ReadonlySet<string>;
}

/**
 * Why nodes can't leave their clusters, whatever is waited for; those that may are absent. What can't be asked now, or may
 * mend itself, forbids nothing. Touches nothing.
 */
export async function findImpossible(
  context: Context,
  { nodes, etcdClusters }: Pick<EtcdSite, 'nodes' | 'etcdClusters'>,
  leaving: Leaving,
): Promise<ReadonlyMap<string, string>> {
  const [kubernetes, etcd] = await Promise.all([
    leaving.kubernetes ? askKubernetes(context, leaving) : new Map<string, string>(),
    inParallel(etcdClusters, (cluster) => findTooSmall(context, cluster, { ...leaving, all: nodes }), { atOnce }),
  ]);
  return new Map(
    leaving.names.flatMap((name): [string, string][] => {
      const reasons = [...etcd, kubernetes].flatMap((each) => each.get(name) ?? []);
      return reasons.length === 0 ? [] : [[name, reasons.join('; ')]];
    }),
  );
}

/** Why the node's members can't leave their clusters, whatever is waited for. As `findImpossible`. */
export async function whyNeededByEtcd(
  context: Context,
  { nodes, etcdClusters }: EtcdWork['site'],
  name: string,
): Promise<string | undefined> {
  const leaving = { names: [name], staysOut: false, force: true, kubernetes: false };
  return (await findImpossible(context, { nodes: new Set(nodes.keys()), etcdClusters }, leaving)).get(name);
}

async function findTooSmall(
  context: Context,
  cluster: EtcdCluster,
  { names, staysOut, all }: Leaving & { readonly all: ReadonlySet<string> },
): Promise<ReadonlyMap<string, string>> {
  const signal = AbortSignal.timeout(lookMs);
  const view = await withCluster(withCredentials(context), cluster, signal, (client) =>
    lookAtCluster(client, cluster),
  ).catch(forbidsNothing);
  const found = new Map<string, string>();
  const gone = new Set<string>();
  if (!view) return found;
  for (const name of names) {
    const { own, unclear } = matchMembers(view.members, cluster, name, all);
    const about = `etcd cluster ${cluster.name}`;
    if (unclear.length > 0) {
      const why = describeUnclear({ unclear, members: view.members, entries: cluster.members, nodes: all }, name);
      found.set(name, `${about}: ${why}`);
      continue;
    }
    if (own.length === 0) continue;
    const leaving = new Set([...(staysOut ? gone : []), ...own.map(({ id }) => id)]);
    const plan = planRemoval(view, leaving, cluster.minimumMembers);
    if (plan.act === 'refuse' && !plan.mayPass) found.set(name, `${about}: ${plan.reason}`);
    for (const { id } of own) gone.add(id);
  }
  return found;
}

async function askKubernetes({ config, database }: Context, leaving: Leaving): Promise<ReadonlyMap<string, string>> {
  const signal = AbortSignal.timeout(lookMs);
  const seen = await withSharedCluster(database, config.kubeconfigFile, async (cluster) => {
    const nodes = await listAll(cluster, nodesPath, ClusterNode, { what: 'nodes', signal });
    const known = new Set(nodes.map(({ metadata }) => metadata.name));
    const names = leaving.names.filter((name) => known.has(name));
    const strangers = leaving.names.filter((name) => leaving.mustBeIn?.has(name) && !known.has(name));
    const absent = strangers.map((name) => [name, whyNotInCluster(errorChain(unknownNode(cluster, name)))] as const);
    return {
      nodes,
      names,
      absent,
      missing: await findMissingNodeRights(cluster, { drained: names, deletes: true }, signal),
    };
  }).catch(forbidsNothing);
  if (!seen) return new Map();
  if (seen.missing.length > 0) {
    const { message } = rightsError('take it out of Kubernetes', seen.missing);
    return new Map([...seen.absent, ...seen.names.map((name) => [name, message] as const)]);
  }
  const last = leaving.force ? [] : findLastReady(seen.nodes, leaving);
  const kept = [...last].map(([name, why]) => [name, `${why}: force=true takes it out all the same`] as const);
  return new Map([...seen.absent, ...kept]);
}

/** @param why the cluster has no such node */
export function whyNotInCluster(why: string): string {
  return `${why} (--param not-in-cluster-ok=true, if it was never part of it)`;
}

/** @throws what is not a cluster's silence */
function forbidsNothing(error: unknown): undefined {
  if (error instanceof AppError || (error instanceof DOMException && error.name === 'TimeoutError')) return undefined;
  throw error;
}
