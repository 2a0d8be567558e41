import { sql } from 'drizzle-orm';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import { hasFakeDeploy, interfaceOf } from '#conductor/nodes/node-interfaces.ts';
import { withServiceTime } from '#conductor/sites/actions/baremetal-nodes.ts';
import type { planAction } from '#conductor/sites/actions/create-action.ts';
import { teardownOrder } from '#conductor/sites/actions/plan-teardown-run.ts';
import { newUlid } from '#conductor/sites/actions/ulid.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { designHash } from '#conductor/sites/nodes/compare-node.ts';
import type { NodeOrder } from '#conductor/sites/nodes/node-order.ts';
import { hardwareSteps } from '#conductor/sites/nodes/read-design.ts';
import { type ReadNode, readFacts } from '#conductor/sites/nodes/read-facts.ts';
import { needsService, serviceNeeds } from '#conductor/sites/nodes/request-cluster-flow.ts';
import type { FollowedFor } from '#conductor/sites/rehearsal/courses/follow-act.ts';
import { type FollowedPhase, followNode } from '#conductor/sites/rehearsal/courses/follow-node.ts';
import type { NodeCourse, PhaseCourse } from '#conductor/sites/rehearsal/engine/course.ts';
import type { Scene } from '#conductor/sites/rehearsal/engine/run-once.ts';
import { readHistory, readModels } from '#conductor/sites/rehearsal/history/read-history.ts';
import { historyOf, type KindHistory, type RecordedFlow } from '#conductor/sites/rehearsal/history/steps-of-kind.ts';
import type { Site, SiteNode } from '#conductor/sites/site.ts';

type Plan = Awaited<ReturnType<typeof planAction>>;
type Context = Pick<SitesContext, 'clock' | 'config' | 'db'> & Parameters<typeof readFacts>[0];

/** Source of the times of a kind of flow on machines of a model. */
export interface Duration extends Pick<KindHistory, 'basis' | 'flows'> {
  readonly kind: FlowKindName;
  readonly model: string | undefined;
  /** Number of the action's nodes that it counts for. */
  readonly nodes: number;
}

/** An action's nodes as they are now, with what the engine would do to each. */
export interface ReadOrder {
  readonly scene: Scene;
  readonly courses: ReadonlyMap<string, NodeCourse>;
  readonly durations: readonly Duration[];
}

/**
 * Reads what a planned action would do to each node, and how long that took before: all in one transaction in which
 * PostgreSQL refuses to write.
 */
export function readOrder(context: Context, plan: Plan): Promise<ReadOrder> {
  return context.db.transaction(async (tx) => {
    await tx.execute(sql`set transaction isolation level repeatable read, read only`);
    return readWithin({ ...context, db: tx }, plan);
  });
}

async function readWithin(context: Context, plan: Plan): Promise<ReadOrder> {
  const { db, clock, config } = context;
  const { site, run, etcd } = plan;
  const beginsAt = clock.now();
  const actionId = newUlid(beginsAt);
  const teardown = teardownOrder({ ...plan, clusters: null }, etcd ?? site, config);
  const wanted = [...run.nodes.keys()].flatMap((name) => site.nodes.get(name) ?? []);
  const orders = wanted.map((node): NodeOrder => ({ node, phase: 'prepare', ...(teardown ? { teardown } : {}) }));
  const read = await readFacts(context, { action: { id: actionId }, site }, orders);
  const followed = new Map(
    orders.map(({ phase: _phase, ...order }) => {
      const { facts = {} } = read.get(order.node.name) ?? {};
      const { revisionId } = plan;
      const hash = (): string => designHash(site, order.node);
      const enrolled = (): ReturnType<FollowedFor['enrolled']> => enrolledAs(context, site, order);
      return [order.node.name, followNode({ order, actionId, revisionId, designHash: hash, enrolled, facts })] as const;
    }),
  );
  return {
    scene: {
      start: run,
      timeouts: withServiceTime(site, config).timeouts,
      beginsAt: beginsAt.getTime(),
      racks: new Map(wanted.flatMap(({ name, rack }) => (rack === undefined ? [] : [[name, rack]]))),
    },
    ...(await timeCourses(db, followed, read)),
  };
}

/** Gives the courses the recorded runs of their flows' steps. */
async function timeCourses(
  db: Context['db'],
  followed: ReadonlyMap<string, ReturnType<typeof followNode>>,
  read: ReadonlyMap<string, ReadNode>,
): Promise<Pick<ReadOrder, 'courses' | 'durations'>> {
  const kinds = new Set([...followed.values()].flatMap(({ prepare, deploy }) => [...prepare.flows, ...deploy.flows]));
  const recorded = await readHistory(db, [...kinds]);
  const uuids = new Map([...read].flatMap(([name, { facts }]) => (facts.node ? [[name, facts.node.uuid]] : [])));
  const models = await readModels(db, [...new Set([...uuids.values(), ...recorded.map(({ node }) => node)])]);
  const find = historyOf(recorded.map((flow): RecordedFlow => ({ ...flow, model: models.get(flow.node) })));
  const durations = new Map<string, Duration>();
  const courses = new Map(
    [...followed].map(([name, phases]): [string, NodeCourse] => {
      const model = models.get(uuids.get(name) ?? '');
      const timed = ({ flows, end }: FollowedPhase): PhaseCourse => ({
        end,
        flows: flows.map((kind) => {
          const { steps } = find(kind, model);
          return { kind, ...(steps ? { steps } : {}) };
        }),
      });
      for (const kind of new Set([...phases.prepare.flows, ...phases.deploy.flows])) {
        const { basis, flows } = find(kind, model);
        const key = JSON.stringify([kind, model]);
        durations.set(key, { kind, model, basis, flows, nodes: (durations.get(key)?.nodes ?? 0) + 1 });
      }
      return [name, { prepare: timed(phases.prepare), deploy: timed(phases.deploy) }];
    }),
  );
  return { courses, durations: [...durations.values()] };
}

/** Describes a node as `enrolNode` would make it. */
function enrolledAs(
  { config }: Pick<Context, 'config'>,
  site: Site,
  { node: wanted, teardown }: Omit<NodeOrder, 'phase'>,
): ReturnType<FollowedFor['enrolled']> {
  const { name, driver } = wanted;
  const row = { driver, deployInterface: null, networkInterface: '', interfaces: {} };
  const hasKubernetes = config.kubeconfigFile !== undefined || teardown?.kubernetes === true;
  return {
    node: {
      uuid: `new node ${name}`,
      driver,
      deployInterface: null,
      provisionState: 'enroll',
      provisionUpdatedAt: new Date(0),
      maintenance: false,
      maintenanceReason: null,
      fault: null,
      instanceUuid: null,
      owner: null,
      lessee: null,
      retired: false,
      retiredReason: null,
      lastError: null,
      owedWipe: null,
    },
    rest: {
      differs: [],
      needsHardware: needsHardware(wanted),
      needsInspection: !hasFakeDeploy(row) && !['fake', 'no-inspect'].includes(interfaceOf(row, 'inspect')),
      awaitsService: needsService(serviceNeeds(wanted, site, { row, membership: undefined, hasKubernetes })),
      succeeded: new Set(),
    },
  };
}

function needsHardware(wanted: SiteNode): boolean {
  return hardwareSteps(wanted, { raidConfig: {}, biosSettings: new Map() }).length > 0;
}
