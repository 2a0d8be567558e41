import { z } from 'zod';
import { requireSerialConsole } from '#conductor/agents/console/serial-console.ts';
import { looseBoolean } from '#conductor/api/node-description.ts';
import { ConsoleState } from '#conductor/api/service.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, routesOf } from '#conductor/http/define-routes.ts';
import { originOf } from '#conductor/http/links.ts';
import { changeNote, writeChangeNote } from '#conductor/nodes/change-note.ts';
import { getNode, updateNode } from '#conductor/nodes/node-store.ts';

const route = routesOf('console');

const path = '/v1/nodes/{node}/states/console';

const show = route.get(
  path,
  'Say whether the serial console is enabled, and where it is',
  answers(200, 'the state, and the WebSocket where there is one', ConsoleState),
);

const set = route.put(path, 'Enable or disable the serial console; disabled, open ones end', answers(202, 'done'), {
  body: z.strictObject({ enabled: looseBoolean }),
});

/** `states/console`: whether a machine's serial console may be opened. It is connected when somebody opens it. */
export function consoleStateRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();

  app.openapi(show, async (c) => {
    const node = await getNode(context.db, c.req.valid('param').node);
    const url = `${originOf(c).replace(/^http/, 'ws')}/v1/nodes/${node.uuid}/console/serial`;
    return c.json({
      console_enabled: node.consoleEnabled,
      console_info: node.consoleEnabled ? { type: 'websocket' as const, url } : null,
    });
  });

  app.openapi(set, async (c) => {
    const ident = c.req.valid('param').node;
    const { enabled } = c.req.valid('json');
    const node = await getNode(context.db, ident);
    if (enabled) {
      requireSerialConsole(node);
      context.drivers.connect(node, { node: node.uuid });
    }
    if (enabled !== node.consoleEnabled) {
      const event = `serial console ${enabled ? 'enabled' : 'disabled'}`;
      const note = changeNote(context, c.get('caller'), event);
      await context.db.transaction(async (tx) => {
        await updateNode(tx, node.uuid, { consoleEnabled: enabled });
        await writeChangeNote(tx, node.uuid, note);
      });
    }
    c.header('Location', `${originOf(c)}/v1/nodes/${ident}/states/console`);
    return c.body(null, 202);
  });

  return app;
}
