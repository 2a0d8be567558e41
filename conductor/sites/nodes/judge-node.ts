import { textRemark } from '#conductor/model/remark.ts';
import { describeRemark, newRemark } from '#conductor/model/remark-words.ts';
import { alreadyThere } from '#conductor/sites/nodes/decide-prepare.ts';
import { isSites, whyForeign } from '#conductor/sites/nodes/node-decision.ts';
import type { NodeFacts, ObservedNode } from '#conductor/sites/nodes/node-facts.ts';
import type { NodeReport } from '#conductor/sites/nodes/node-order.ts';
import { nameOutdated } from '#conductor/sites/nodes/outdated.ts';

/**
 * What a look at a node comes to. What would stop an action is a failure; what is
 * not as documented, whoever may mend it, is told apart. Pure.
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
