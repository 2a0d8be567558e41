import { z } from 'zod';
import { IndicatorAnswer, Indicators } from '#conductor/api/node-parts.ts';
import { type Indicator, type IndicatorInterface, indicatorStates } from '#conductor/drivers/interfaces.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, routesOf } from '#conductor/http/define-routes.ts';
import { linksTo, originOf } from '#conductor/http/links.ts';
import { requireEndpoint } from '#conductor/http/versions.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { changeNote, writeChangeNote } from '#conductor/nodes/change-note.ts';
import { withNodeLock } from '#conductor/nodes/node-lock.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf('node management');
const since = 63;
const path = '/v1/nodes/{node}/management/indicators';

const list = route.get(
  path,
  'List the lamps of the hardware',
  answers(200, 'indicators, called name@component', Indicators),
);

const show = route.get(
  `${path}/{indicator}`,
  'Show the state of an indicator, or list those of a component',
  answers(200, 'state of name@component; indicators of a component', z.union([IndicatorAnswer, Indicators])),
);

const set = route.put(`${path}/{indicator}`, 'Switch an indicator', answers(204, 'done'), {
  body: z.strictObject({ state: z.string() }),
});

/** `management/indicators` of a node (Ironic, 1.63). */
export function nodeIndicatorRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();
  const find = async (ident: string) => {
    const node = await getNode(context.db, ident);
    const { indicators } = context.drivers.connect(node, { node: node.uuid });
    if (!indicators) throw new AppError('not_supported', `Driver ${node.driver} does not support indicators.`);
    return { node, indicators };
  };

  app.openapi(list, async (c) => {
    requireEndpoint(c.get('version'), since);
    const { node, indicators } = await find(c.req.valid('param').node);
    return c.json({ indicators: (await indicators.list()).map((each) => view(originOf(c), node, each)) });
  });

  app.openapi(show, async (c) => {
    requireEndpoint(c.get('version'), since);
    const { node: ident, indicator } = c.req.valid('param');
    const { node, indicators } = await find(ident);
    if (!indicator.includes('@')) {
      const ofIt = (await indicators.list()).filter(({ component }) => component === indicator);
      if (ofIt.length === 0)
        throw new AppError('not_found', `Node ${node.uuid} has no indicators of the component ${indicator}.`);
      return c.json({ indicators: ofIt.map((each) => view(originOf(c), node, each)) });
    }
    const { component } = await known(indicators, indicator);
    return c.json({ state: await indicators.read(component) });
  });

  app.openapi(set, async (c) => {
    requireEndpoint(c.get('version'), since);
    const { node: ident, indicator } = c.req.valid('param');
    const asked = c.req.valid('json').state.toUpperCase();
    const state = indicatorStates.find((each) => each === asked);
    if (!state || state === 'UNKNOWN')
      throw new AppError('invalid_argument', `state: it must be ON, OFF or BLINKING, not '${asked}'.`);
    const { node, indicators } = await find(ident);
    const { component } = await known(indicators, indicator);
    const note = changeNote(context, c.get('caller'), `indicator ${indicator} is switched ${state}`);
    await withNodeLock(context, node.uuid, async (signal) => {
      await writeChangeNote(context.db, node.uuid, note);
      await indicators.set(component, state, { signal });
    });
    return c.body(null, 204);
  });

  return app;
}

/** @throws AppError `not_found` naming what there is */
async function known(indicators: IndicatorInterface, ident: string): Promise<Indicator> {
  const all = await indicators.list();
  const found = all.find(({ name, component }) => ident === `${name}@${component}`);
  if (found) return found;
  const names = all.map(({ name, component }) => `${name}@${component}`).join(', ');
  throw new AppError('not_found', `There is no indicator ${ident}; there are ${names || 'none'}.`);
}

function view(origin: string, { uuid }: NodeRow, { name, component, states }: Indicator) {
  const ident = `${name}@${component}`;
  const links = linksTo(origin, `nodes/${uuid}/management/indicators/${ident}`);
  return { name: ident, component, readonly: false, states: [...states], links };
}
