import { z } from 'zod';
import { looseBoolean } from '#conductor/api/node-description.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, routesOf } from '#conductor/http/define-routes.ts';
import { originOf } from '#conductor/http/links.ts';
import { requireEndpoint } from '#conductor/http/versions.ts';
import { changeNote, writeChangeNote } from '#conductor/nodes/change-note.ts';
import { withNodeLock } from '#conductor/nodes/node-lock.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { requestBootMode } from '#conductor/nodes/request-boot-mode.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route0 = routesOf('node states');
const route1 = routesOf('node management');

const bootModeVersion = 76;
const nmiVersion = 29;

const setBootMode = route0.put(
  '/v1/nodes/{node}/states/boot_mode',
  'Ask for a boot mode, which holds from the next boot on',
  answers(202, 'accepted; boot_mode changes later'),
  { body: z.strictObject({ target: z.enum(['uefi', 'bios'], { error: 'must be uefi or bios' }) }) },
);

const setSecureBoot = route0.put(
  '/v1/nodes/{node}/states/secure_boot',
  'Ask for secure boot on or off, which holds from the next boot on',
  answers(202, 'accepted; secure_boot changes later'),
  { body: z.strictObject({ target: looseBoolean }) },
);

const injectNmi = route1.put(
  '/v1/nodes/{node}/management/inject_nmi',
  'Send a non-maskable interrupt, for a dump of a system that hangs',
  answers(204, 'sent'),
  { body: { content: { 'application/json': { schema: z.strictObject({}, { error: 'must be empty or {}' }) } } } },
);

/** `states/boot_mode`, `states/secure_boot` and `management/inject_nmi` of a node. */
export function nodeBootModeRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();

  app.openapi(setBootMode, async (c) => {
    requireEndpoint(c.get('version'), bootModeVersion);
    const ident = c.req.valid('param').node;
    const { uuid } = await getNode(context.db, ident);
    await requestBootMode(context, uuid, { bootMode: c.req.valid('json').target }, c.get('caller'));
    c.header('Location', `${originOf(c)}/v1/nodes/${ident}/states`);
    return c.body(null, 202);
  });

  app.openapi(setSecureBoot, async (c) => {
    requireEndpoint(c.get('version'), bootModeVersion);
    const ident = c.req.valid('param').node;
    const { uuid } = await getNode(context.db, ident);
    await requestBootMode(context, uuid, { secureBoot: c.req.valid('json').target }, c.get('caller'));
    c.header('Location', `${originOf(c)}/v1/nodes/${ident}/states`);
    return c.body(null, 202);
  });

  app.openapi(injectNmi, async (c) => {
    requireEndpoint(c.get('version'), nmiVersion);
    const node = await getNode(context.db, c.req.valid('param').node);
    const { management } = context.drivers.connect(node, { node: node.uuid });
    if (!management.injectNmi) {
      throw new AppError('not_supported', `Driver ${node.driver} does not support inject_nmi.`);
    }
    await withNodeLock(context, node.uuid, (signal) => management.injectNmi?.({ signal }) ?? Promise.resolve());
    await writeChangeNote(context.db, node.uuid, changeNote(context, c.get('caller'), 'NMI sent'));
    return c.body(null, 204);
  });

  return app;
}
