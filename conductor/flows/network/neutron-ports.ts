import type { NodeSwitchPort } from '#conductor/api/node-parts.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import type { SetPort } from '#conductor/flows/network/set-port.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { ConnectRequest } from '#conductor/networks/connect-node.ts';
import { noNeutron, parseNetworkInterface } from '#conductor/networks/network-interfaces.ts';
import type { NeutronLook } from '#conductor/networks/neutron/connect-by-neutron.ts';
import { listPortGroups } from '#conductor/nodes/ports/bond-numbers.ts';
import { listVifs } from '#conductor/nodes/ports/port-store.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

type NeutronContext = Pick<EngineContext, 'db' | 'networks'>;

/** Returns whether Neutron has the node's switches. @throws AppError `invalid_argument` */
export function isAtNeutron({ networkInterface }: Pick<NodeRow, 'networkInterface'>): boolean {
  return parseNetworkInterface(networkInterface) === 'neutron';
}

/**
 * Composes the request that puts a node's ports at Neutron back where Baton has put them last. @throws AppError
 * `invalid_argument`
 */
export async function requestAsSet(
  { db, networks }: NeutronContext,
  nodeUuid: string,
  setPorts: readonly SetPort[],
): Promise<Required<Omit<ConnectRequest, 'networkInterface' | 'signal'>>> {
  const names = new Set(setPorts.map(({ set }) => set.network));
  const own = (['provisioning', 'cleaning'] as const).find((each) =>
    names.has(networks.networks.neutron?.networks[each] ?? ''),
  );
  // others were attached since, for the next deploy
  const vifs = (await listVifs(db, nodeUuid)).filter(({ id }) => names.has(id));
  const isSomewhere = own !== undefined || vifs.length > 0;
  return {
    nodeUuid,
    ports: setPorts.map(({ port }) => port),
    groups: await listPortGroups(db, networks.networks, nodeUuid),
    destination: isSomewhere ? { purpose: own ?? 'tenant', vifs } : 'isolated',
  };
}

/** Reads, as `readNodeNetwork` does, the ports of a node whose switches Neutron configures: VLANs are Neutron's matter. */
export async function readNeutronPorts(
  context: NeutronContext,
  node: Pick<NodeRow, 'uuid'>,
  setPorts: readonly SetPort[],
  withinMs: number | undefined,
): Promise<NodeSwitchPort[]> {
  const { looks, error } =
    withinMs === undefined
      ? { looks: [], error: null }
      : await lookAtNeutron(context, node.uuid, setPorts, { withinMs });
  const now = new Date().toISOString();
  return setPorts.map(({ port, set }) => {
    const seen = looks.find((each) => each.port.uuid === port.uuid);
    const { switch_id: switchId, port_id: portId } = port.localLinkConnection;
    return {
      port_uuid: port.uuid,
      address: port.address,
      switch_id: String(switchId),
      port_id: String(portId),
      network: set.network,
      applied_at: set.appliedAt.toISOString(),
      looked_at: seen ? now : (set.lookedAt?.toISOString() ?? null),
      wanted: null,
      found: null,
      wanted_bond: null,
      found_bond: null,
      differs: seen ? seen.differences.length > 0 : set.found !== null,
      differences: [...(seen?.differences ?? [])],
      commands: [...(seen?.commands ?? [])],
      error: error && errorChain(error),
    };
  });
}

/** Neutron is waited for so long. Milliseconds. */
const lookMs = 30_000;

/** Looks at what of the node is otherwise at Neutron than Baton has set it last. */
export async function lookAtNeutron(
  context: NeutronContext,
  nodeUuid: string,
  setPorts: readonly SetPort[],
  { signal, withinMs = lookMs }: { readonly signal?: AbortSignal; readonly withinMs?: number },
): Promise<{ readonly looks: readonly NeutronLook[]; readonly error: AppError | null }> {
  const { neutron } = context.networks;
  if (setPorts.length === 0) return { looks: [], error: null };
  try {
    if (!neutron) throw new AppError('invalid_argument', noNeutron);
    const request = await requestAsSet(context, nodeUuid, setPorts);
    return { looks: await neutron.look({ ...request, signal }, withinMs), error: null };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { looks: [], error };
  }
}
