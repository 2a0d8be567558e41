import { and, eq } from 'drizzle-orm';
import { isAmong } from '#conductor/kernel/db/query/statement.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { ports } from '#conductor/kernel/db/schema/port.ts';
import { nodeFaults } from '#conductor/model/node-words.ts';
import { deployedStates } from '#conductor/model/provision-states.ts';
import { describeRemark } from '#conductor/model/remarks/remark-words.ts';
import type { ActionName, ActionParameters } from '#conductor/model/site/action-parameters.ts';
import { actionTable } from '#conductor/model/site/action-table.ts';
import type { SiteRun } from '#conductor/model/site/site-run.ts';
import { hasFakeDeploy } from '#conductor/nodes/node-interfaces.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { type ObservedNode, whoseElse } from '#conductor/sites/nodes/node-decision.ts';
import { type DesignContext, openCredentials, readDesigns, whyNoLogin } from '#conductor/sites/nodes/read-design.ts';
import { listAwaited, readDeployed, readObserved, readReservations } from '#conductor/sites/nodes/read-observed.ts';
import { findImpossible, whyUndeployable } from '#conductor/sites/nodes/why-undeployable.ts';
import type { EtcdSite } from '#conductor/sites/revisions/find-design.ts';
import type { Site } from '#conductor/sites/site.ts';
import { describeMisses, judgeCriteria } from '#conductor/sites/strategy/success-criteria.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { nameSome } from '#shared/words.ts';

const namedAtMost = 5;

export interface Foreseen {
  /** Nodes that fail before anything of them is touched, by name: why. */
  readonly nodes: ReadonlyMap<string, string>;
  /** Critical groups that can't meet their criteria without them: the action can only fail. */
  readonly groups: readonly string[];
}

/**
 * Foresees what an action that deploys groups is known to fail for; what the site has deployed already stays as it is.
 */
export async function foreseeFailures(
  context: DesignContext,
  { site, run }: { readonly site: Pick<Site, 'nodes'>; readonly run: SiteRun },
): Promise<Foreseen> {
  const names = [...run.nodes.keys()];
  const [observed, deployed] = await Promise.all([readObserved(context.db, names), readDeployed(context.db, names)]);
  const isThere = (name: string): boolean => {
    const instance = observed.get(name)?.node.instanceUuid ?? null;
    return instance !== null && deployed.get(name)?.instanceUuid === instance;
  };
  const nodes = await findUnfit(context, { site, names: names.filter((name) => !isThere(name)) });
  if (nodes.size === 0) return { nodes, groups: [] };
  const groups = run.groups.flatMap(({ definition, members }) => {
    const able = members.filter((name) => !nodes.has(name)).length;
    const tally = { members: members.length, succeeded: able };
    const misses = definition.critical ? judgeCriteria(definition.success_criteria, tally) : [];
    if (misses.length === 0) return [];
    const unfit = members.filter((name) => nodes.has(name));
    const named = nameSome(
      unfit.map((name) => `${name}: ${nodes.get(name) ?? ''}`),
      namedAtMost,
    );
    return [`critical group ${definition.name} can't succeed (at best ${describeMisses(misses, tally)}): ${named}`];
  });
  return { nodes, groups };
}

/** @throws AppError `conflict` for an action that can only fail */
export function requireNoFailure(name: string, { nodes, groups }: Foreseen): void {
  if (groups.length === 0) return;
  throw new AppError('conflict', `${name} not started: ${groups.join('; ')}`, {
    details: { reason: 'NodesNotDeployable', nodes: Object.fromEntries(nodes) },
  });
}

interface Request {
  readonly name: ActionName;
  readonly parameters: ActionParameters;
  readonly site: Pick<Site, 'nodes'>;
}

/**
 * Before anything is begun: is there a node that is certain to be refused when its turn comes, maybe days later?
 * What may mend itself (a cluster that can't be reached, a BMC that is silent) refuses nothing: the steps wait for it.
 * @throws AppError `conflict` naming each with its reason
 */
export async function requireTeardownPossible(
  context: Pick<SitesContext, 'database' | 'config'> & DesignContext,
  request: Request & { readonly etcd: EtcdSite },
): Promise<void> {
  const wrong = new Map([...(await findImpossibleOf(context, request)), ...(await findObstacles(context, request))]);
  if (wrong.size === 0) return;
  const each = [...wrong].map(([node, why]) => `${node}: ${why}`);
  throw new AppError('conflict', `${request.name} not started: ${each.join('; ')}`, {
    details: { reason: 'NodesNotForTeardown', nodes: Object.fromEntries(wrong) },
  });
}

/**
 * Why nodes can't leave their clusters, by name, as far as it is known now (`findImpossible`); another node that is out of
 * them still is a reason, too.
 */
export async function findImpossibleOf(
  context: Pick<SitesContext, 'db' | 'secrets' | 'config' | 'database'>,
  { name, parameters, etcd }: Omit<Request, 'site'> & { readonly etcd: EtcdSite },
): Promise<ReadonlyMap<string, string>> {
  const names = parameters.target_nodes ?? [];
  const force = parameters.force === true;
  const kubernetes = context.config.kubeconfigFile !== undefined;
  const impossible = await findImpossible(context, etcd, {
    names,
    mustBeIn: parameters['not-in-cluster-ok'] === true ? new Set() : await namesInClusters(context.db, names),
    staysOut: actionTable[name].teardown === 'then keeps',
    force,
    kubernetes,
  });
  const isClustered = kubernetes || etcd.etcdClusters.length > 0;
  const out = isClustered && !force ? await listAwaited(context.db, names) : [];
  if (out.length === 0) return impossible;
  const are = out.length === 1 ? 'is' : 'are';
  const why = `${nameSome(out, namedAtMost)} ${are} not back in service: update_site waits for that; force=true goes on without`;
  return new Map(names.map((each) => [each, [impossible.get(each), why].filter(Boolean).join('; ')]));
}

/** Lists nodes with an instance that are not out of their clusters still: as the step `cluster.drain` sees it. */
async function namesInClusters(db: SitesContext['db'], names: readonly string[]): Promise<ReadonlySet<string>> {
  const [observed, deployed] = await Promise.all([readObserved(db, names), readDeployed(db, names)]);
  const isIn = ([name, { node }]: [string, { readonly node: ObservedNode }]): boolean =>
    deployedStates.has(node.provisionState) && deployed.get(name)?.isAwaited !== true;
  return new Set([...observed].filter(isIn).map(([name]) => name));
}

/** Why nodes must not be torn down, by name; those that may be are absent. */
export async function findObstacles(
  context: DesignContext,
  { name, parameters, site }: Request,
): Promise<ReadonlyMap<string, string>> {
  const { db } = context;
  const names = parameters.target_nodes ?? [];
  const isRemade = actionTable[name].teardown === 'then deploys';
  const unfit = isRemade ? await findUnfit(context, { site, names }) : new Map<string, string>();
  const observed = await readObserved(db, names);
  const uuids = [...observed.values()].map(({ node }) => node.uuid);
  const [allocations, deployed, guarded] = await Promise.all([
    readReservations(db, uuids),
    readDeployed(db, names),
    db
      .select({ uuid: nodes.uuid, reason: nodes.protectedReason })
      .from(nodes)
      .where(and(isAmong(nodes.uuid, uuids), eq(nodes.protected, true))),
  ]);
  const preserves = parameters['preserve-local-storage'] === true;
  // an action that removes nodes can be repeated when it has removed some of them
  const mustBeEnrolled = actionTable[name].teardown === 'then keeps' && parameters['remove-node'] !== true;
  const protections = new Map(guarded.map(({ uuid, reason }) => [uuid, reason]));
  const obstacles = names.flatMap((each): [string, string][] => {
    const { node } = observed.get(each) ?? {};
    const unfitNode = unfit.get(each);
    if (!node) {
      const absent = mustBeEnrolled ? 'it is not enrolled' : unfitNode;
      return absent === undefined ? [] : [[each, absent]];
    }
    const allocation = allocations.get(node.uuid);
    const before = deployed.get(each);
    const facts = { node, ...(allocation ? { allocation } : {}), ...(before ? { deployed: before } : {}) };
    const foreign = whoseElse({ facts }, node);
    const why =
      (foreign && describeRemark(foreign)) ??
      whyProtected(protections.get(node.uuid)) ??
      whyNotWiped(node, preserves) ??
      whyOutOfService(node, isRemade) ??
      unfitNode;
    return why === undefined ? [] : [[each, why]];
  });
  return new Map(obstacles);
}

/** @param reason `undefined` = it is not protected */
function whyProtected(reason: string | null | undefined): string | undefined {
  return reason === undefined ? undefined : `it is protected${reason ? `: ${reason}` : ''}; end its protection first`;
}

/** Refused before its clusters are left for nothing. */
function whyNotWiped(node: ObservedNode, preserves: boolean): string | undefined {
  if (!node.owedWipe) return undefined;
  if (preserves && !node.owedWipe.preserveLocalStorage) {
    return 'it owes a wipe of all its disks, which was begun and has not come to its end: without preserve-local-storage';
  }
  // a rehearsal proves nothing, and would end in 'clean failed'
  return hasFakeDeploy(node)
    ? 'it owes a wipe of its disks, which its deploy_interface fake does not do: give it back the one that it had'
    : undefined;
}

function whyOutOfService(node: ObservedNode, isRedeployed: boolean): string | undefined {
  if (node.retired && isRedeployed) return `it is retired${node.retiredReason ? `: ${node.retiredReason}` : ''}`;
  if (!node.maintenance || node.fault === nodeFaults.clean) return undefined;
  return `it is in maintenance${node.maintenanceReason ? `: ${node.maintenanceReason}` : ''}`;
}

/**
 * Why nodes can't be deployed as their documents have them, by name, enrolled or not; those that can are absent. Asked
 * before anything of them is touched.
 */
export async function findUnfit(
  context: DesignContext,
  { site, names }: { readonly site: Pick<Site, 'nodes'>; readonly names: readonly string[] },
): Promise<ReadonlyMap<string, string>> {
  const wanted = names.flatMap((name) => site.nodes.get(name) ?? []);
  const addresses = wanted.flatMap((node) => node.ports.map(({ address }) => address));
  const [designs, credentials, taken] = await Promise.all([
    readDesigns(context, wanted),
    openCredentials(context, wanted),
    context.db
      .select({ address: ports.address, owner: nodes.name, uuid: nodes.uuid })
      .from(ports)
      .innerJoin(nodes, eq(nodes.uuid, ports.nodeUuid))
      .where(isAmong(ports.address, addresses)),
  ]);
  const owners = new Map(taken.map(({ address, owner, uuid }) => [address, owner ?? uuid]));
  return new Map(
    wanted.flatMap((node): [string, string][] => {
      const design = designs.get(node.name);
      const port = node.ports.find(({ address }) => owners.has(address));
      const reasons = design
        ? [design.impossible, design.undeployable]
        : [
            port && `port ${port.address} of its document belongs to node ${owners.get(port.address) ?? ''}`,
            whyNoLogin(node, credentials),
            whyUndeployable(context, node),
          ];
      const all = reasons.filter((reason) => reason !== undefined);
      return all.length === 0 ? [] : [[node.name, all.join('; ')]];
    }),
  );
}
