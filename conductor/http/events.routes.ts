import { createFleetWatch } from '#conductor/flows/watch-fleet.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import { sourceOf } from '#conductor/http/caller-source.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answersOther, routesOf } from '#conductor/http/define-routes.ts';
import { openEventStream } from '#conductor/http/event-stream.ts';
import { credentialsOf } from '#conductor/http/session-cookie.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf("fleet (Baton's own)");

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

/** `GET /v1/events`. */
export function eventRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();
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
  return app;
}
