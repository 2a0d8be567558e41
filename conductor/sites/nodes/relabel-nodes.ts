import type { JsonPatch } from '#conductor/kernel/json-patch.ts';
import { type Remark, textRemark } from '#conductor/model/remarks/remark.ts';
import { newRemark } from '#conductor/model/remarks/remark-words.ts';
import { changeNode } from '#conductor/nodes/change/change-node.ts';
import { setTraits } from '#conductor/nodes/traits.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { reportEach } from '#conductor/sites/nodes/act-on-node.ts';
import { whyForeign } from '#conductor/sites/nodes/node-decision.ts';
import {
  inItsName,
  type NodeReport,
  requestVersion,
  type SiteWork,
  siteCaller,
} from '#conductor/sites/nodes/node-order.ts';
import type { ReadNode } from '#conductor/sites/nodes/read-facts.ts';
import { errorChain, errorCode } from '#shared/errors/app-error.ts';

const atOnce = 16;

/**
 * Brings rack, tags, labels, traits and resource class in line with the documents; deploys nothing. What a node's state
 * does not allow is its failure, and the rest is changed.
 */
export async function relabelNodes(
  context: SitesContext,
  work: SiteWork & { readonly names: readonly string[] },
): Promise<ReadonlyMap<string, NodeReport>> {
  return reportEach(context, work, atOnce, async (_node, { facts, design }) => {
    if (!facts.node || !design) return failure(newRemark('not-enrolled-enrols'));
    const foreign = whyForeign({ facts }, facts.node);
    return foreign === undefined ? relabelNode(context, work.action, design) : failure(foreign);
  });
}

function failure(error: Remark): NodeReport {
  return { state: 'failed', error, findings: [] };
}

async function relabelNode(
  context: SitesContext,
  action: SiteWork['action'],
  { row, changes }: NonNullable<ReadNode['design']>,
): Promise<NodeReport> {
  const caller = siteCaller(action);
  const { relabelling, traits } = changes;
  const patchNode = (patch: JsonPatch) => async () => {
    await changeNode(context, row.uuid, patch, { version: requestVersion, caller, isUnowned: true });
  };
  const isClass = ({ path }: JsonPatch[number]): boolean => path === '/resource_class';
  const labels = relabelling.filter((each) => !isClass(each));
  const resourceClass = relabelling.filter(isClass);
  const steps = [
    ...(labels.length > 0 ? [{ what: labels.map(({ path }) => path.slice(1)), change: patchNode(labels) }] : []),
    // in few states: it stands alone, so that it keeps nothing else back
    ...(resourceClass.length > 0 ? [{ what: ['resource_class'], change: patchNode(resourceClass) }] : []),
    ...(traits ? [{ what: ['traits'], change: () => setTraits(context, row.uuid, traits, caller) }] : []),
  ];
  const findings: string[] = [];
  const errors: string[] = [];
  for (const { what, change } of steps) {
    try {
      await change();
      findings.push(...what.map((field) => `changed ${field}`));
    } catch (error) {
      if (errorCode(error) === 'database_error') throw error;
      errors.push(
        `change ${what.join(', ')}: ${inItsName(errorChain(error), { name: row.name ?? row.uuid, uuid: row.uuid })}`,
      );
    }
  }
  if (errors.length > 0) return { state: 'failed', error: textRemark(errors.join('; ')), findings };
  return findings.length > 0
    ? { state: 'done', findings }
    : { state: 'done', remark: newRemark('labelled-already'), findings };
}
