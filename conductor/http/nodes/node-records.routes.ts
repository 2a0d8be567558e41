import { z } from 'zod';
import { findAgentLogs } from '#conductor/agents/agent-session-store.ts';
import { Flow } from '#conductor/api/flows.ts';
import { AgentLookup, HistoryEntry, Inventory, RulesPreview } from '#conductor/api/node-parts.ts';
import { pageOf, uuid } from '#conductor/api/values.ts';
import { answerAgent } from '#conductor/flows/request/lookup-node.ts';
import { latestFlow } from '#conductor/flows/watch/flow-view.ts';
import { countDiscoveries } from '#conductor/http/doors/count-discoveries.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import {
  type ApiApp,
  answers,
  answersOther,
  originOf,
  queryFlag,
  routesOf,
} from '#conductor/http/routing/define-routes.ts';
import { nextPage, pagingQuery, parsePaging } from '#conductor/http/routing/list-queries.ts';
import { minimumMinor, requireEndpoint } from '#conductor/http/routing/versions.ts';
import { viewIds } from '#conductor/model/request-ids.ts';
import { previewRules } from '#conductor/nodes/inspection/apply-rules.ts';
import { continueInspection } from '#conductor/nodes/inspection/continue-inspection.ts';
import { findInventory } from '#conductor/nodes/inspection/inventory-store.ts';
import { getHistoryEntry, listHistoryPage } from '#conductor/nodes/node-history.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';
import { AppError } from '#shared/errors/app-error.ts';

const historyRoute = routesOf('node history');
const historyVersion = 78;
const projectVersion = 113;
const statesVersion = 115;
/** A list cuts its texts; the entry itself has the whole. */
const shortEvent = 255;

const history = historyRoute.get(
  '/v1/nodes/{node}/history',
  'List what happened to the node',
  answers(200, 'history, oldest first unless asked otherwise', pageOf('history', HistoryEntry)),
  { since: historyVersion, query: z.strictObject({ ...pagingQuery, detail: queryFlag, request_ids: queryFlag }) },
);

const showEvent = historyRoute.get(
  '/v1/nodes/{node}/history/{entry}',
  'Show one entry',
  answers(200, 'the entry', HistoryEntry),
  { since: historyVersion },
);

const flow = historyRoute.get(
  '/v1/nodes/{node}/flow',
  "Show the node's current or latest flow with all its steps (Baton's own)",
  answers(200, 'the flow', Flow),
);

type HistoryRow = Awaited<ReturnType<typeof getHistoryEntry>>;

function viewEntry(
  entry: HistoryRow,
  nodeUuid: string,
  origin: string,
  options: { detail: boolean; whole: boolean; version: number; ids?: boolean },
) {
  const event =
    options.whole || entry.event.length <= shortEvent ? entry.event : `${entry.event.slice(0, shortEvent - 3)}...`;
  return {
    uuid: entry.uuid,
    created_at: apiTime(entry.createdAt),
    severity: entry.severity,
    event,
    ...(options.detail
      ? {
          event_type: entry.eventType,
          conductor: entry.conductor,
          user: entry.user,
          ...(options.version >= projectVersion ? { project: entry.project } : {}),
          ...(options.version >= statesVersion
            ? {
                state: entry.state,
                target_provision_state: entry.targetProvisionState,
                duration_seconds: entry.durationSeconds,
              }
            : {}),
        }
      : {}),
    ...(options.ids ? viewIds(entry) : {}),
    links: [{ href: `${origin}/v1/nodes/${nodeUuid}/history/${entry.uuid}`, rel: 'self' }],
  };
}

/** Serves `/v1/nodes/{node}/history` and `/flow`. */
export function nodeHistoryRoutes(app: ApiApp, context: HttpContext): void {
  app.openapi(history, async (c) => {
    const { uuid } = await getNode(context.db, c.req.valid('param').node);
    const { detail = false, request_ids: ids = false, ...query } = c.req.valid('query');
    const paging = parsePaging(query);
    if (paging.marker !== undefined) await getHistoryEntry(context.db, uuid, paging.marker);
    const entries = await listHistoryPage(context.db, uuid, paging);
    const origin = originOf(c);
    return c.json({
      history: entries.map((entry) =>
        viewEntry(entry, uuid, origin, { detail, whole: detail, version: c.get('version'), ids }),
      ),
      ...nextPage(c, `/v1/nodes/${uuid}/history`, paging, entries),
    });
  });

  app.openapi(showEvent, async (c) => {
    const { node, entry: entryUuid } = c.req.valid('param');
    const { uuid } = await getNode(context.db, node);
    const entry = await getHistoryEntry(context.db, uuid, entryUuid);
    return c.json(viewEntry(entry, uuid, originOf(c), { detail: true, whole: true, version: c.get('version') }));
  });

  app.openapi(flow, async (c) => {
    const node = await getNode(context.db, c.req.valid('param').node);
    const view = await latestFlow(context, node);
    if (!view) throw new AppError('not_found', `Node ${node.uuid} has had no flow yet.`);
    return c.json(view);
  });
}

const flowRoute = routesOf("flows and plans (Baton's own)");

const showLogs = flowRoute.get(
  '/v1/nodes/{node}/flow/logs',
  "Fetch the agent's logs of a flow that failed, a gzipped tar; the newest without `flow`",
  answersOther(200, 'the logs', 'application/gzip'),
  { query: z.strictObject({ flow: z.guid({ error: "must be a flow's UUID" }).optional() }) },
);

/** Serves `/v1/nodes/{node}/flow/logs`, which is Baton's own. */
export function nodeLogRoutes(app: ApiApp, context: HttpContext): void {
  app.openapi(showLogs, async (c) => {
    const node = await getNode(context.db, c.req.valid('param').node);
    const { flow } = c.req.valid('query');
    const logs = await findAgentLogs(context.db, node.uuid, flow?.toLowerCase());
    if (!logs) {
      const which = flow === undefined ? '' : ` of flow ${flow}`;
      throw new AppError(
        'not_found',
        `Node ${node.uuid} has no logs${which}: they are collected when a step fails and the agent still answers, and ` +
          "each node's last five are kept.",
      );
    }
    const time = logs.collectedAt.toISOString().replaceAll(/[-:]|\.\d+/g, '');
    return c.body(new Uint8Array(logs.content), 200, {
      'Content-Type': 'application/gzip',
      'Content-Disposition': `attachment; filename="${node.uuid}-${time}.tar.gz"`,
      ...(logs.flowUuid === null ? {} : { 'X-Baton-Flow': logs.flowUuid }),
    });
  });
}

const nodeRoute = routesOf('nodes');
const agentRoute = routesOf('agent');

const inventoryVersion = 81;
const continueVersion = 84;

const showInventory = nodeRoute.get(
  '/v1/nodes/{node}/inventory',
  "Show what the node's ramdisk found when it last looked",
  answers(200, 'inventory and plugin_data', Inventory),
  { since: inventoryVersion },
);

const previewRoute = nodeRoute.get(
  '/v1/nodes/{node}/inspection_rules',
  'Say what the inspection rules would change by the inventory that is kept; nothing is changed',
  answers(200, 'descriptions of the rules that hold, paths of what they would change, what is wrong', RulesPreview),
);

const continueRoute = agentRoute.post(
  '/v1/continue_inspection',
  'Take what a ramdisk has found',
  answers(202, 'taken', z.union([AgentLookup, z.strictObject({ uuid })])),
  {
    query: z.strictObject({ node_uuid: z.uuid({ error: 'must be a UUID' }).optional() }),
    limits: 'report',
    body: z.record(z.string(), z.unknown()),
  },
);

/** Serves the inventory, and what ramdisks report theirs to. No authentication there: strangers learn nothing. */
export function inspectionRoutes(app: ApiApp, context: HttpContext): void {
  const find = async (ident: string) => {
    const { uuid } = await getNode(context.db, ident);
    const row = await findInventory(context.db, uuid);
    if (row) return row;
    throw new AppError('not_found', `Node inventory record for node ${uuid} could not be found.`);
  };

  app.openapi(showInventory, async (c) => {
    const { inventory, pluginData } = await find(c.req.valid('param').node);
    return c.json({ inventory, plugin_data: pluginData });
  });

  app.openapi(previewRoute, async (c) => {
    const kept = await find(c.req.valid('param').node);
    const { traitsAdded, traitsRemoved, fails, ...preview } = await previewRules(context.db, context, kept);
    return c.json({ ...preview, traits_added: traitsAdded, traits_removed: traitsRemoved, fails: fails ?? null });
  });

  const discoverySource = countDiscoveries(context.clock);
  app.openapi(continueRoute, async (c) => {
    const version = c.get('version');
    // agents name no version here
    const isUnversioned = version === minimumMinor;
    if (!isUnversioned) requireEndpoint(version, continueVersion);
    const { node_uuid: uuid } = c.req.valid('query');
    const node = await continueInspection(context, c.req.valid('json'), uuid?.toLowerCase(), discoverySource(c));
    // a discovered machine has nothing to do yet, and gets no token
    const hasWork = !isUnversioned && node.provisionState !== 'enroll';
    return c.json(hasWork ? await answerAgent(context, node, version) : { uuid: node.uuid }, 202);
  });
}
