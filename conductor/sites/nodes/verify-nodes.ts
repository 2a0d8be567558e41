import { textRemark } from '#conductor/model/remarks/remark.ts';
import { describeRemark, newRemark } from '#conductor/model/remarks/remark-words.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { withLogin } from '#conductor/sites/credentials.ts';
import { reportEach } from '#conductor/sites/nodes/act-on-node.ts';
import { designHash } from '#conductor/sites/nodes/compare-node.ts';
import { alreadyThere, nameOutdated } from '#conductor/sites/nodes/decide-prepare.ts';
import { isSites, type NodeFacts, type ObservedNode, whyForeign } from '#conductor/sites/nodes/node-decision.ts';
import type { NodeReport, SiteWork } from '#conductor/sites/nodes/node-order.ts';
import { openCredentials, whyNoLogin } from '#conductor/sites/nodes/read-design.ts';
import type { ReadNode } from '#conductor/sites/nodes/read-facts.ts';
import type { SiteNode } from '#conductor/sites/site.ts';
import { planSite } from '#conductor/sites/strategy/plan-site.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

/** BMCs are slow, and there are many: most of the time is waiting. */
const atOnce = 32;
/** A BMC that is there answers within it. */
const bmcTimeoutMs = 15_000;

/** Looks whether nodes are what the documents say, and whether their BMCs answer; touches nothing. */
export async function verifyNodes(
  context: SitesContext,
  work: SiteWork & { readonly names: readonly string[] },
): Promise<ReadonlyMap<string, NodeReport>> {
  const { site, names } = work;
  const credentials = await openCredentials(
    context,
    names.flatMap((name) => site.nodes.get(name) ?? []),
  );
  const chosen = planSite(site).nodes;
  return reportEach(context, work, atOnce, async (node, { facts, design }) => {
    const login = withLogin(node, credentials);
    const bmc = whyNoLogin(node, credentials) ?? (await askBmc(context, node, design, login));
    return judgeNode({ facts, designHash: () => designHash(site, node), isWanted: chosen.has(node.name), bmc });
  });
}

type BmcAnswer = Parameters<typeof judgeNode>[0]['bmc'];

/** Asks the BMC as the documents say that it is reached: that is what prepare will do. */
async function askBmc(
  context: SitesContext,
  node: SiteNode,
  design: ReadNode['design'],
  driverInfo: SiteNode['driverInfo'],
): Promise<BmcAnswer> {
  const uuid = design?.row.uuid ?? '';
  const known = design?.row.driver === node.driver && !accessDiffers(design) ? design.row.driverInfo : driverInfo;
  try {
    const bmc = context.drivers.connect(
      { uuid, driver: node.driver, driverInfo: known, powerHold: null },
      { node: node.name },
    );
    const power = await bmc.power.getPowerState({ timeoutMs: bmcTimeoutMs });
    return { power: power ?? 'power unknown' };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return errorChain(error);
  }
}

function accessDiffers({ changes }: NonNullable<ReadNode['design']>): boolean {
  return changes.patch.some(({ path }) => path.startsWith('/driver_info/'));
}

/**
 * Judges a look at a node. Faults that would stop an action are a failure; what is not as documented, no matter who may
 * mend it, is listed separately. Pure.
 * @param isWanted a group of the strategy has it deployed
 * @param bmc its answer, or why there is none
 */
export function judgeNode(look: {
  readonly facts: NodeFacts;
  readonly designHash: () => string;
  readonly isWanted: boolean;
  readonly bmc: { readonly power: string } | string;
}): NodeReport {
  const { facts, bmc } = look;
  const { node, rest } = facts;
  const silence = typeof bmc === 'string' ? [`its BMC: ${bmc}`] : [];
  const isDeployed = isSites({ facts }) === 'deployed';
  const undeployable = look.isWanted && !isDeployed ? (facts.undeployable ?? []) : [];
  const known = silence.concat(undeployable);
  if (!node) return { ...report(known, ['it is not enrolled yet, which prepare does']), differs: ['not enrolled'] };
  const maintenance = node.maintenance && node.provisionState !== 'active';
  const foreign = whyForeign(look, node);
  const faults = [
    ...known,
    ...[
      ...(foreign === undefined ? [] : [foreign]),
      ...(maintenance ? [newRemark('in-maintenance', { reason: node.maintenanceReason })] : []),
      ...(node.retired && node.provisionState !== 'active' ? [newRemark('retired', { reason: null })] : []),
    ].map((remark) => describeRemark(remark)),
  ];
  const isBroken = node.provisionState.endsWith('failed') || node.provisionState === 'error';
  const differing = rest && rest.differs.length > 0 ? [`not as its document says: ${rest.differs.join(', ')}`] : [];
  const found = report(faults, [
    ...(typeof bmc === 'string' ? [] : [bmc.power]),
    `in '${node.provisionState}'${isBroken && node.lastError ? `: ${node.lastError}` : ''}`,
    ...(isDeployed ? [describeRemark(alreadyThere(look))] : differing),
  ]);
  return { ...found, differs: differences(look, node) };
}

function differences(look: Parameters<typeof judgeNode>[0], node: ObservedNode): string[] {
  const { facts, isWanted, bmc } = look;
  const isDeployed = isSites({ facts }) === 'deployed';
  const isOff = typeof bmc !== 'string' && bmc.power === 'power off';
  return [
    ...(isDeployed ? nameOutdated(look) : (facts.rest?.differs ?? [])),
    ...(isWanted && !isDeployed ? [`not deployed: in '${node.provisionState}'`] : []),
    ...(isDeployed && node.provisionState === 'active' && isOff ? ['powered off'] : []),
  ];
}

function report(faults: readonly string[], findings: readonly string[]): NodeReport {
  const all = [...faults, ...findings];
  return faults.length > 0
    ? { state: 'failed', error: textRemark(faults.join('; ')), findings: all }
    : { state: 'done', findings: all };
}
