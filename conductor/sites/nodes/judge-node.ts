import { alreadyThere } from '#conductor/sites/nodes/decide-prepare.ts';
import { isSites, whyForeign } from '#conductor/sites/nodes/node-decision.ts';
import type { NodeFacts } from '#conductor/sites/nodes/node-facts.ts';
import type { NodeReport } from '#conductor/sites/nodes/node-order.ts';

/**
 * What a look at a node comes to. What prepare would mend by itself is only found; what would stop it is a failure.
 * Pure.
 * @param bmc its answer, or why there is none
 */
export function judgeNode(look: {
  readonly facts: NodeFacts;
  readonly designHash: () => string;
  readonly bmc: { readonly power: string } | string;
}): NodeReport {
  const { facts, bmc } = look;
  const { node, rest } = facts;
  const silence = typeof bmc === 'string' ? [`its BMC: ${bmc}`] : [];
  if (!node) return report([...silence], ['it is not enrolled yet, which prepare does']);
  const maintenance = node.maintenance && node.provisionState !== 'active';
  const reason = node.maintenanceReason === null ? '' : `: ${node.maintenanceReason}`;
  const foreign = whyForeign(look, node);
  const faults = [
    ...silence,
    ...(foreign === undefined ? [] : [foreign]),
    ...(maintenance ? [`it is in maintenance${reason}`] : []),
    ...(node.retired && node.provisionState !== 'active' ? ['it is retired'] : []),
  ];
  const isBroken = node.provisionState.endsWith('failed') || node.provisionState === 'error';
  return report(faults, [
    ...(typeof bmc === 'string' ? [] : [bmc.power]),
    `in '${node.provisionState}'${isBroken && node.lastError ? `: ${node.lastError}` : ''}`,
    ...(rest && rest.differs.length > 0 ? [`not as its document says: ${rest.differs.join(', ')}`] : []),
    ...(isSites({ facts }) === 'deployed' ? [alreadyThere(look)] : []),
  ]);
}

function report(faults: readonly string[], findings: readonly string[]): NodeReport {
  const all = [...faults, ...findings];
  return faults.length > 0
    ? { state: 'failed', error: faults.join('; '), findings: all }
    : { state: 'done', findings: all };
}
