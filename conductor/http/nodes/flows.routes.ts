import { z } from 'zod';
import { FlowSummary, flowStatuses } from '#conductor/api/flows.ts';
import { Fleet } from '#conductor/api/node-parts.ts';
import { pageOf } from '#conductor/api/values.ts';
import { retryNow, skipStep } from '#conductor/flows/request/push-flow.ts';
import { releasePower } from '#conductor/flows/request/release-power.ts';
import { listFlows } from '#conductor/flows/watch/list-flows.ts';
import { createFleetWatch } from '#conductor/flows/watch/watch-fleet.ts';
import { sourceOf } from '#conductor/http/doors/admit-strangers.ts';
import { openEventStream } from '#conductor/http/nodes/event-stream.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, answersOther, routesOf } from '#conductor/http/routing/define-routes.ts';
import { nextPage, parsePaging } from '#conductor/http/routing/list-queries.ts';
import { credentialsOf } from '#conductor/http/service/session.routes.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { countNodes } from '#conductor/nodes/views/list-nodes.ts';
import { AppError } from '#shared/errors/app-error.ts';

const path = '/v1/flows';
const route = routesOf("fleet (Baton's own)");

/** Makes the schema of a list such as `a,b`, each one of these. */
function listOf<Word extends string>(known: readonly Word[]) {
  return z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(known, { error: `must be some of ${known.join(', ')}, with commas between them` })))
    .optional();
}

const list = route.get(
  path,
  'List the flows under way, and those whose failure a node rests in; the oldest first',
  answers(200, 'flows', pageOf('flows', FlowSummary)),
  {
    query: z.strictObject({
      status: listOf(flowStatuses).describe(`some of ${flowStatuses.join(', ')}`),
      kind: listOf(Object.keys(flowKinds)).describe('deploy,clean: only flows of these kinds'),
      limit: z.string().optional(),
      marker: z.string().optional().describe('uuid of the last one of the page before'),
    }),
  },
);

const fleet = route.get('/v1/fleet', 'Count the nodes by provision state', answers(200, 'counts', Fleet));

/** Serves `/v1/flows` and `/v1/fleet`. */
export function flowRoutes(app: ApiApp, context: HttpContext): void {
  app.openapi(list, async (c) => {
    const { status, kind, ...query } = c.req.valid('query');
    const paging = parsePaging(query);
    const filter = { statuses: status, kinds: kind, owner: c.get('caller').project };
    const flows = await listFlows(context, filter, paging);
    return c.json({ flows, ...nextPage(c, path, paging, flows) });
  });

  app.openapi(fleet, async (c) => {
    const states = await countNodes(context.db, c.get('caller').project);
    return c.json({
      nodes: states.reduce((sum, { nodes }) => sum + nodes, 0),
      in_maintenance: states.reduce((sum, { inMaintenance }) => sum + inMaintenance, 0),
      provision_states: Object.fromEntries(states.map(({ state, nodes }) => [state, nodes])),
    });
  });
}

const maxStreams = 1000;
const maxStreamsOfUser = 50;

const events = route.get(
  '/v1/events',
  'Follow the changes of nodes, flows and actions, as server-sent events',
  answersOther(200, 'the stream', 'text/event-stream'),
  {
    description:
      'Events are node, flow and action, each with the whole state as it is now, and gone. The first is hello: fetch lists ' +
      'after it. reload says that events were missed: fetch lists again. beat comes every ten seconds. logout and bye are ' +
      'the last. Last-Event-ID resumes, at any conductor. Callers of a project get what is theirs.',
  },
);

/** Serves `GET /v1/events`. */
export function eventRoutes(app: ApiApp, context: HttpContext): void {
  const { auth, config } = context;
  const watch = createFleetWatch(context);
  const open = new Map<string, number>();

  app.openapi(events, async (c) => {
    const { user: login, project, role } = c.get('caller');
    // callers without a login are distinguished by their addresses
    const user = login ?? sourceOf(c);
    const ofUser = open.get(user) ?? 0;
    const all = [...open.values()].reduce((sum, count) => sum + count, 0);
    if (all >= maxStreams || ofUser >= maxStreamsOfUser)
      throw new AppError(
        'busy',
        `${all} streams of events are open here, ${ofUser} of yours; close some, or try later`,
      );
    open.set(user, ofUser + 1);
    const onEnd = (): void => {
      const left = (open.get(user) ?? 1) - 1;
      if (left > 0) open.set(user, left);
      else open.delete(user);
    };
    const isAllowed = async (): Promise<boolean> => {
      if (auth.unproven) return true;
      const credentials = await credentialsOf(c, { config, sessions: auth.sessions });
      const caller = credentials && (auth.recall(credentials) ?? (await auth.check(credentials)));
      return caller?.role === role && caller.project === project;
    };
    const id = c.req.header('last-event-id');
    try {
      const since = id === undefined ? undefined : /^\d{1,15}$/.test(id) ? Number(id) : 0;
      const { stopping } = context;
      const stream = await openEventStream({ watch, project, since, isAllowed, stopping, onEnd });
      return c.body(stream, 200, {
        'Content-Type': 'text/event-stream',
        'Cache-Control': 'no-store, no-transform',
        'X-Accel-Buffering': 'no',
      });
    } catch (error) {
      onEnd();
      throw error;
    }
  });
}

const workRoute = routesOf("flows and plans (Baton's own)");

const retry = workRoute.post(
  '/v1/nodes/{node}/flow/retry',
  'Try at once what the flow under way waits for; its limits stay',
  answers(202, 'accepted'),
);

const skip = workRoute.post(
  '/v1/nodes/{node}/flow/skip',
  'Leave out a step that a request, a template or a plugin asks for, before it runs or while it is retried',
  answers(202, 'accepted'),
  { limits: 'usual', body: z.strictObject({ step: z.guid({ error: "must be a step's UUID, as GET …/flow has it" }) }) },
);

const release = workRoute.post(
  '/v1/nodes/{node}/flow/release_power',
  'Say that nothing is under way in the machine which must not lose power: what waits for that goes on',
  answers(202, 'accepted'),
);

/** Serves `/v1/nodes/{node}/flow/retry`, `/skip` and `/release_power`. */
export function nodeFlowRoutes(app: ApiApp, context: HttpContext): void {
  app.openapi(retry, async (c) => {
    const node = await getNode(context.db, c.req.valid('param').node);
    await retryNow(context, node, c.get('caller'));
    return c.body(null, 202);
  });

  app.openapi(release, async (c) => {
    const node = await getNode(context.db, c.req.valid('param').node);
    await releasePower(context, node, c.get('caller'));
    return c.body(null, 202);
  });

  app.openapi(skip, async (c) => {
    const node = await getNode(context.db, c.req.valid('param').node);
    await skipStep(context, node, c.req.valid('json').step.toLowerCase(), c.get('caller'));
    return c.body(null, 202);
  });
}
