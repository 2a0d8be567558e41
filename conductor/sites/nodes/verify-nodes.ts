import { newRemark } from '#conductor/model/remark-words.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { actInTurn } from '#conductor/sites/nodes/act-in-turn.ts';
import { withLogin } from '#conductor/sites/nodes/bmc-login.ts';
import { designHash } from '#conductor/sites/nodes/design-hash.ts';
import { judgeNode } from '#conductor/sites/nodes/judge-node.ts';
import type { NodeReport, SiteWork } from '#conductor/sites/nodes/node-order.ts';
import { openCredentials, whyNoLogin } from '#conductor/sites/nodes/read-design.ts';
import { type ReadNode, readFacts } from '#conductor/sites/nodes/read-facts.ts';
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
  { action, site, names }: SiteWork & { readonly names: readonly string[] },
): Promise<ReadonlyMap<string, NodeReport>> {
  const wanted = names.flatMap((name) => site.nodes.get(name) ?? []);
  const credentials = await openCredentials(context, wanted);
  const read = await readFacts(
    context,
    { action, site },
    wanted.map((node) => ({ node, phase: 'prepare' })),
  );
  const chosen = planSite(site).nodes;
  const verify = async (name: string): Promise<NodeReport> => {
    const node = site.nodes.get(name);
    if (!node) return { state: 'failed', error: newRemark('not-in-documents'), findings: [] };
    const { facts, design } = read.get(name) ?? { facts: {}, design: undefined };
    const login = withLogin(node, credentials);
    const answer = whyNoLogin(node, credentials) ?? (await askBmc(context, node, design, login));
    return judgeNode({ facts, designHash: () => designHash(site, node), isWanted: chosen.has(name), bmc: answer });
  };
  return actInTurn(names, verify, { atOnce, budgetMs: Number.POSITIVE_INFINITY });
}

type BmcAnswer = Parameters<typeof judgeNode>[0]['bmc'];

/** As the documents say that it is reached: that is what prepare will do. */
async function askBmc(
  context: SitesContext,
  node: SiteNode,
  design: ReadNode['design'],
  driverInfo: SiteNode['driverInfo'],
): Promise<BmcAnswer> {
  const uuid = design?.row.uuid ?? '';
  const known = design?.row.driver === node.driver && !accessDiffers(design) ? design.row.driverInfo : driverInfo;
  try {
    const bmc = context.drivers.connect({ uuid, driver: node.driver, driverInfo: known }, { node: node.name });
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
