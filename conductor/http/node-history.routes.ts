import { z } from 'zod';
import { Flow } from '#conductor/api/flows.ts';
import { HistoryEntry } from '#conductor/api/node-parts.ts';
import { latestFlow } from '#conductor/flows/flow-view.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, queryFlag, routesOf } from '#conductor/http/define-routes.ts';
import { originOf } from '#conductor/http/links.ts';
import { requireEndpoint } from '#conductor/http/versions.ts';
import { listHistory } from '#conductor/nodes/node-history.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf('node history');
const historyVersion = 78;
/** A list cuts its texts; the entry itself has the whole. */
const shortEvent = 255;

const list = route.get(
  '/v1/nodes/{node}/history',
  'List what happened to the node',
  answers(200, 'history, oldest first', z.strictObject({ history: z.array(HistoryEntry) })),
  { query: z.strictObject({ detail: queryFlag }) },
);

const show = route.get('/v1/nodes/{node}/history/{entry}', 'Show one entry', answers(200, 'the entry', HistoryEntry));

const flow = route.get(
  '/v1/nodes/{node}/flow',
  "Show the node's current or latest flow with all its steps (Baton's own)",
  answers(200, 'the flow', Flow),
);

type HistoryRow = Awaited<ReturnType<typeof listHistory>>[number];

function viewEntry(entry: HistoryRow, nodeUuid: string, origin: string, options: { detail: boolean; whole: boolean }) {
  const event =
    options.whole || entry.event.length <= shortEvent ? entry.event : `${entry.event.slice(0, shortEvent - 3)}...`;
  return {
    uuid: entry.uuid,
    created_at: apiTime(entry.createdAt),
    severity: entry.severity,
    event,
    ...(options.detail
      ? { event_type: entry.eventType, conductor: entry.conductor, user: entry.user, project: entry.project }
      : {}),
    links: [{ href: `${origin}/v1/nodes/${nodeUuid}/history/${entry.uuid}`, rel: 'self' }],
  };
}

/** `/v1/nodes/{node}/history` and `/flow`. */
export function nodeHistoryRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();

  app.openapi(list, async (c) => {
    requireEndpoint(c.get('version'), historyVersion);
    const { uuid } = await getNode(context.db, c.req.valid('param').node);
    const detail = c.req.valid('query').detail ?? false;
    const entries = (await listHistory(context.db, uuid)).toReversed();
    const origin = originOf(c);
    return c.json({ history: entries.map((entry) => viewEntry(entry, uuid, origin, { detail, whole: detail })) });
  });

  app.openapi(show, async (c) => {
    requireEndpoint(c.get('version'), historyVersion);
    const { node, entry: entryUuid } = c.req.valid('param');
    const { uuid } = await getNode(context.db, node);
    const entry = (await listHistory(context.db, uuid)).find((each) => each.uuid === entryUuid);
    if (!entry) throw new AppError('not_found', `Node history entry ${entryUuid} could not be found.`);
    return c.json(viewEntry(entry, uuid, originOf(c), { detail: true, whole: true }));
  });

  app.openapi(flow, async (c) => {
    const node = await getNode(context.db, c.req.valid('param').node);
    const view = await latestFlow(context, node);
    if (!view) throw new AppError('not_found', `Node ${node.uuid} has had no flow yet.`);
    return c.json(view);
  });

  return app;
}
