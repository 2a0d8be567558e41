import { z } from 'zod';
import { Traits } from '#conductor/api/node-parts.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, originOf, routesOf } from '#conductor/http/routing/define-routes.ts';
import { TraitName } from '#conductor/model/trait-name.ts';
import { changeRunbookTraits, listRunbookTraits, traitsVersion as since } from '#conductor/templates/runbook.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf('runbooks');
const path = '/v1/runbooks/{runbook}/traits';
const maximumTraits = 50;
const OneTrait = z.object({ runbook: z.string(), trait: TraitName });

const list = route.get(path, 'List the traits of a runbook', answers(200, 'traits', Traits), { since });

const replace = route.put(path, 'Replace the traits of a runbook', answers(204, 'done'), {
  since,
  limits: 'usual',
  body: z.strictObject({ traits: z.array(TraitName).max(maximumTraits, `are too many: at most ${maximumTraits}`) }),
});

const add = route.put(`${path}/{trait}`, 'Add a trait to a runbook', answers(204, 'done'), { since, params: OneTrait });

const removeAll = route.delete(path, 'Remove all traits of a runbook', answers(204, 'done'), { since });

const remove = route.delete(`${path}/{trait}`, 'Remove a trait of a runbook', answers(204, 'done'), {
  since,
  params: z.object({ runbook: z.string(), trait: z.string() }),
});

/** Serves `/v1/runbooks/{runbook}/traits`: nodes with one of them may have the runbook done. */
export function runbookTraitRoutes(app: ApiApp, { db }: HttpContext): void {
  app.openapi(list, async (c) => {
    const traits = await listRunbookTraits(db, c.req.valid('param').runbook, c.get('caller'));
    return c.json({ traits: [...traits] });
  });

  app.openapi(replace, async (c) => {
    const { traits } = c.req.valid('json');
    await changeRunbookTraits(db, c.req.valid('param').runbook, c.get('caller'), () => traits);
    return c.body(null, 204);
  });

  app.openapi(add, async (c) => {
    const { runbook, trait } = c.req.valid('param');
    await changeRunbookTraits(db, runbook, c.get('caller'), (traits) => {
      if (traits.length < maximumTraits || traits.includes(trait)) return [...traits, trait];
      throw new AppError(
        'invalid_argument',
        `runbook ${runbook} has ${maximumTraits} traits already, which is the maximum`,
      );
    });
    c.header('Location', `${originOf(c)}/v1/runbooks/${runbook}/traits/${trait}`);
    return c.body(null, 204);
  });

  app.openapi(removeAll, async (c) => {
    await changeRunbookTraits(db, c.req.valid('param').runbook, c.get('caller'), () => []);
    return c.body(null, 204);
  });

  // a trait that the runbook does not have is no fault, as in Ironic
  app.openapi(remove, async (c) => {
    const { runbook, trait } = c.req.valid('param');
    await changeRunbookTraits(db, runbook, c.get('caller'), (traits) => traits.filter((each) => each !== trait));
    return c.body(null, 204);
  });
}
