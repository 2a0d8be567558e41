import { requireBootable } from '#conductor/flows/validate-node.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import { type NetworkPort, parseNetworkInterface, validateNetwork } from '#conductor/networks/network-interfaces.ts';
import type { Vif } from '#conductor/networks/place-vifs.ts';
import { buildImageInfo } from '#conductor/nodes/image-info.ts';
import { checkFetched, checkImageUrls } from '#conductor/nodes/image-urls.ts';
import { hasFakeDeploy, keptDeployInterface, keptInterfaces } from '#conductor/nodes/node-interfaces.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import type { SiteNode, SitePort } from '#conductor/sites/site.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

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

/** Those that it has, as its document has them, and those that are made. */
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
