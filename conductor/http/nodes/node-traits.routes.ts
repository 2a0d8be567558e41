import type { Context } from 'hono';
import { z } from 'zod';
import { Traits } from '#conductor/api/node-parts.ts';
import type { ApiEnv } from '#conductor/http/routing/api-env.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, originOf, routesOf } from '#conductor/http/routing/define-routes.ts';
import { requireVersion } from '#conductor/http/routing/versions.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { TraitName } from '#conductor/model/trait-name.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { addTraits, changeTraits, deleteTrait, deleteTraits, listTraits, setTraits } from '#conductor/nodes/traits.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf('node traits');
const traitVersion = 37;
const maximumTraits = 50;

const path = '/v1/nodes/{node}/traits';
const OneTrait = z.object({ node: z.string(), trait: TraitName });

const list = route.get(path, 'List the traits of a node', answers(200, 'traits', Traits));

const replace = route.put(path, 'Replace the traits of a node', answers(204, 'done'), {
  methodSince: traitVersion,
  limits: 'usual',
  body: z.strictObject({ traits: z.array(TraitName).max(maximumTraits) }),
});

const add = route.put(`${path}/{trait}`, 'Add a trait', answers(204, 'done'), {
  methodSince: traitVersion,
  params: OneTrait,
});

const removeAll = route.delete(path, 'Remove all traits', answers(204, 'done'), { since: traitVersion });

const remove = route.delete(`${path}/{trait}`, 'Remove a trait', answers(204, 'done'), {
  since: traitVersion,
  params: OneTrait,
});

/** Serves `/v1/nodes/{node}/traits`. */
export function nodeTraitRoutes(app: ApiApp, context: HttpContext): void {
  const { db } = context;
  const change = async (
    c: Context<ApiEnv>,
    { node, event }: { readonly node: string; readonly event: string },
    write: (tx: Transaction, nodeUuid: string) => Promise<void>,
  ): Promise<void> => {
    const { uuid } = await getNode(db, node);
    await changeTraits(context, uuid, { event, caller: c.get('caller') }, write);
  };

  app.openapi(list, async (c) => {
    requireVersion(c.get('version'), traitVersion, 'a list of traits');
    const { uuid } = await getNode(db, c.req.valid('param').node);
    return c.json({ traits: (await listTraits(db, [uuid])).get(uuid) ?? [] });
  });

  app.openapi(replace, async (c) => {
    const { uuid } = await getNode(db, c.req.valid('param').node);
    await setTraits(context, uuid, c.req.valid('json').traits, c.get('caller'));
    return c.body(null, 204);
  });

  app.openapi(add, async (c) => {
    const { node, trait } = c.req.valid('param');
    await change(c, { node, event: `trait ${trait} added` }, async (tx, uuid) => {
      const present = (await listTraits(tx, [uuid])).get(uuid) ?? [];
      if (present.length >= maximumTraits && !present.includes(trait)) {
        throw new AppError(
          'invalid_argument',
          `Node ${uuid} has ${maximumTraits} traits already, which is the maximum.`,
        );
      }
      await addTraits(tx, uuid, [trait]);
    });
    c.header('Location', `${originOf(c)}/v1/nodes/${node}/traits/${trait}`);
    return c.body(null, 204);
  });

  app.openapi(removeAll, async (c) => {
    await change(c, { node: c.req.valid('param').node, event: 'all traits removed' }, deleteTraits);
    return c.body(null, 204);
  });

  app.openapi(remove, async (c) => {
    const { node, trait } = c.req.valid('param');
    await change(c, { node, event: `trait ${trait} removed` }, async (tx, uuid) => {
      if (await deleteTrait(tx, uuid, trait)) return;
      throw new AppError('not_found', `Node ${uuid} doesn't have a trait '${trait}'`);
    });
    return c.body(null, 204);
  });
}
