import { eq } from 'drizzle-orm';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeOutcome, NodePhase } from '#conductor/model/site/site-run.ts';
import { defaultSettings } from '#conductor/sites/documents/configuration-document.ts';
import { advanceNodes } from '#conductor/sites/nodes/advance-nodes.ts';
import type { TeardownOrder } from '#conductor/sites/nodes/node-order.ts';
import { siteNode } from '#conductor/sites/nodes/testing/node-cases.ts';
import { writesImage } from '#conductor/sites/nodes/testing/writes-image.ts';
import type { Site, SiteNode } from '#conductor/sites/site.ts';
import type { ConductorContext } from '#conductor/start/open-context.ts';
import { silentLog } from '#shared/log.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** A phase that an action has asked of nodes. */
export interface NodePhaseRequest {
  readonly action: ReturnType<typeof newAction>;
  readonly phase: NodePhase;
  readonly teardown?: TeardownOrder;
}

/** A site whose nodes are fake hardware; their flows run, and what an action would order is ordered by the test. */
export interface FakeSite {
  readonly operator: Operator;
  context(): ConductorContext;
  /** One look at the nodes. @param context another conductor's */
  beat(
    given: readonly SiteNode[],
    request: NodePhaseRequest,
    context?: ConductorContext,
  ): Promise<ReadonlyMap<string, NodeOutcome>>;
  /** Until all have ended. @param contextNow whose the next look is; one that throws comes to nothing */
  run(
    given: readonly SiteNode[],
    request: NodePhaseRequest,
    contextNow?: () => ConductorContext,
  ): Promise<ReadonlyMap<string, NodeOutcome>>;
  uuidOf(name: string): Promise<string>;
  /** Lists the flows of a node, sorted: `clean succeeded`. */
  flowsOf(name: string): Promise<string[]>;
  close(): Promise<void>;
}

export const newAction = () => ({ id: crypto.randomUUID() as string, name: 'deploy_site', user: null, revisionId: 1 });

const count = { nodes: 0 };

/** The document of a node that was never there before. */
export function newSiteNode(more: Partial<SiteNode> = {}): SiteNode {
  count.nodes += 1;
  const hex = count.nodes.toString(16).padStart(4, '0');
  const address = `52:54:00:07:${hex.slice(0, 2)}:${hex.slice(2)}`;
  return {
    ...siteNode,
    name: `fake-${count.nodes}`,
    rack: 'r1',
    tags: ['worker'],
    ports: [{ address, pxeEnabled: true }],
    traits: ['CUSTOM_SITE'],
    ...more,
  };
}

/** Documents of nodes, and of nothing else. */
export function siteOf(given: readonly SiteNode[]): Site {
  return {
    nodes: new Map(given.map((node) => [node.name, node])),
    strategy: { name: 'default', groups: [], max_parallel_groups: 1 },
    timeouts: { prepare: 1800, deploy: 3600 },
    plugins: [],
    etcdClusters: [],
    settings: defaultSettings,
  };
}

export async function startFakeSite(): Promise<FakeSite> {
  const conductor: ConductorInProcess = await startConductorInProcess({ log: silentLog });
  const operator = createOperator(conductor.url);
  const beat: FakeSite['beat'] = (given, { action, ...order }, context = conductor.context()) =>
    advanceNodes(
      { ...context, run: writesImage },
      { action, site: siteOf(given), orders: given.map((node) => ({ node, ...order })) },
    );
  const uuidOf = async (name: string): Promise<string> => String((await operator.node(name))['uuid']);
  return {
    operator,
    context: () => conductor.context(),
    beat,
    run: (given, request, contextNow) => {
      const ended = new Map<string, NodeOutcome>();
      const look = async () => {
        const left = given.filter(({ name }) => !ended.has(name));
        const outcomes = await beat(left, request, contextNow?.());
        for (const [name, outcome] of outcomes) if (outcome.state !== 'working') ended.set(name, outcome);
        return ended.size === given.length ? ended : undefined;
      };
      return waitUntil(request.phase, look, { timeoutMs: 240_000, everyMs: 20 });
    },
    uuidOf,
    flowsOf: async (name) => {
      const { db } = conductor.context();
      const rows = await db
        .select()
        .from(flows)
        .where(eq(flows.nodeUuid, await uuidOf(name)));
      return rows.map(({ kind, state }) => `${kind} ${state}`).sort();
    },
    close: () => conductor.close(),
  };
}
