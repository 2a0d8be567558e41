import { z } from 'zod';
import {
  Action,
  ActionDryRun,
  ActionNode,
  ActionStep,
  ActionValidation,
  SiteStatuses,
} from '#conductor/api/actions.ts';
import { ActionRehearsal } from '#conductor/api/rehearsal.ts';
import { getAction, listActions } from '#conductor/flows/site-actions/action-store.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import {
  type ApiApp,
  answers,
  answersOther,
  originOf,
  queryFlag,
  routesOf,
} from '#conductor/http/routing/define-routes.ts';
import { airshipList, airshipQuery } from '#conductor/http/sites/airship-values.ts';
import { actionTable } from '#conductor/model/site/action-table.ts';
import { isUuid } from '#conductor/nodes/node-store.ts';
import { getNote, readActionLog } from '#conductor/sites/actions/action-notes.ts';
import { controlAction } from '#conductor/sites/actions/control-action.ts';
import { createAction } from '#conductor/sites/actions/create-action.ts';
import { readSiteStatuses } from '#conductor/sites/actions/site-statuses.ts';
import {
  viewActionInFull,
  viewActionStep,
  viewActions,
  viewActionValidation,
  viewPlan,
} from '#conductor/sites/actions/view-action.ts';
import { viewActionNodes } from '#conductor/sites/actions/view-groups.ts';
import { viewTeardownPlan } from '#conductor/sites/actions/view-teardown-plan.ts';
import { rehearseAction } from '#conductor/sites/rehearsal/rehearse-action.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf('site actions');
const path = '/api/v1.0/actions';
const onePath = `${path}/{action}` as const;
const stepPath = `${onePath}/steps/{step}` as const;
const maximumPage = 1000;
const usualPage = 100;

const verbosity = z
  .enum(['0', '1', '2', '3', '4', '5'], { error: 'must be 0 to 5: how detailed the notes are' })
  .default('1')
  .transform(Number);
const Verbosity = airshipQuery({}).extend({ verbosity });

const since = z
  .string()
  .regex(/^\d{1,26}$/, 'must be the note_id of a note')
  .transform(Number)
  .refine(Number.isSafeInteger, 'must be the note_id of a note')
  .optional();

const ActionRequest = z.strictObject({
  name: z.string({ error: 'must be the name of an action' }),
  parameters: z.record(z.string(), z.unknown(), { error: 'must be an object' }).nullish(),
});

const mostRuns = 1000;
const largestSeed = 2 ** 32 - 1;
const defaultRehearsal = { runs: 100, seed: 1, fail: [] } as const;

function wholeNumber(least: number, most: number, error: string) {
  return z
    .string()
    .regex(/^\d{1,10}$/, error)
    .transform(Number)
    .refine((value) => value >= least && value <= most, { error })
    .optional();
}

const create = route.post(
  path,
  'Start a site action: deploy_site, update_site, redeploy_server, teardown_server, relabel_nodes, verify_site',
  {
    ...answers(
      200,
      'dry_run: the groups in their order with their nodes, of a teardown each step and disk; rehearse: what the action would come to on the nodes as they are now. Nothing is started',
      z.union([ActionDryRun, ActionRehearsal]),
    ),
    ...answers(201, 'the action, and its address in Location', Action),
  },
  {
    limits: 'usual',
    body: ActionRequest,
    query: airshipQuery({
      'allow-intermediate-commits': queryFlag,
      rehearse: queryFlag,
      runs: wholeNumber(1, mostRuns, `must be a whole number, 1 to ${mostRuns}: how often it is rehearsed (100)`),
      seed: wholeNumber(0, largestSeed, `must be a whole number, 0 to ${largestSeed}: what chance is drawn from (1)`),
      fail: z
        .union([z.string().transform((text) => [text]), z.array(z.string())])
        .optional()
        .describe('NODE@STEP, or a share of all nodes: 5%'),
    }),
  },
);

const list = route.get(
  path,
  'List site actions, the newest first',
  answers(
    200,
    'a list of actions, with open=true those that have not ended; marker is the id of the last one of the page before',
    z.array(Action),
  ),
  {
    query: Verbosity.extend({
      limit: z.coerce.number({ error: 'must be a number' }).int().min(1).max(maximumPage).default(usualPage),
      marker: z.string().optional(),
      open: queryFlag,
    }),
  },
);

const show = route.get(
  onePath,
  'Show a site action with its steps, groups, notes, validations and commands',
  answers(200, 'the action; since: only notes behind the one with that note_id; members: with their names', Action),
  { query: Verbosity.extend({ since, members: queryFlag }) },
);

const showNodes = route.get(
  `${onePath}/nodes`,
  'List the nodes of a site action with what became of them',
  answers(200, 'nodes', z.strictObject({ nodes: z.array(ActionNode) })),
  {
    query: airshipQuery({
      group: z.string().optional(),
      status: z.enum(['not_started', 'prepared', 'success', 'failure']).optional(),
      working: queryFlag,
    }),
  },
);

const control = route.post(
  `${onePath}/control/{verb}`,
  'Pause or unpause a site action, skip what its groups wait for, or stop it',
  answers(202, 'noted; the action follows at its next beat'),
);

const showStep = route.get(
  stepPath,
  'Show a step of a site action with its notes',
  answers(200, 'the step', ActionStep),
  { query: Verbosity.extend({ since, try: z.string().optional() }) },
);

const showLogs = route.get(
  `${stepPath}/logs`,
  'Show what has happened in a step, a line each',
  answersOther(200, 'text', 'text/plain'),
  { query: airshipQuery({ try: z.string().optional() }) },
);

const showValidation = route.get(
  `${onePath}/validations/{validation}`,
  'Show one of the validations of a site action',
  answers(200, 'the validation, as the action has it', ActionValidation),
  { query: airshipQuery({}) },
);

const showNote = route.get(
  '/api/v1.0/notedetails/{note}',
  'Show the text of a note, of whichever action',
  answersOther(200, 'text', 'text/plain'),
  { query: airshipQuery({}) },
);

const siteStatuses = route.get(
  '/api/v1.0/site_statuses',
  "Show every node's provision and power state",
  answers(200, 'nodes_provision_status and machines_powerstate, or those that filters names', SiteStatuses),
  { query: airshipQuery({ filters: airshipList }) },
);

/** Refuses what only a rehearsal follows: who gives it means one. */
function requireNoRehearsal(given: Readonly<Record<string, unknown>>): void {
  const key = Object.keys(given).find((each) => given[each] !== undefined);
  if (key !== undefined) throw new AppError('invalid_argument', `${key}: it goes with rehearse=true`);
}

/** Refuses any try but the first: steps run once here, while Shipyard numbers tries from 1. */
function requireFirstTry(given: string | undefined): void {
  if (given === undefined || given === '1') return;
  throw new AppError('not_found', `try: no try ${given}; a step has one try, and continues where it was`);
}

/** Serves `/api/v1.0/actions` and `/api/v1.0/site_statuses`, in Shipyard's manner (airship.md §4). */
export function actionRoutes(app: ApiApp, context: HttpContext): void {
  const { db } = context;

  app.openapi(create, async (c) => {
    const { name, parameters } = c.req.valid('json');
    const marker = c.req.header('X-Context-Marker');
    const { rehearse, runs, seed, fail, ...query } = c.req.valid('query');
    const request = {
      name,
      parameters: parameters ?? {},
      allowIntermediateCommits: query['allow-intermediate-commits'],
      ...(marker !== undefined && isUuid(marker) ? { contextMarker: marker } : {}),
      caller: c.get('caller'),
    };
    if (rehearse) {
      const { runs: usual, seed: first, fail: none } = defaultRehearsal;
      const given = { runs: runs ?? usual, seed: seed ?? first, fail: fail ?? none };
      return c.json(await rehearseAction(context, { action: request, ...given }), 200);
    }
    requireNoRehearsal({ runs, seed, fail });
    const made = await createAction(context, request);
    if ('plan' in made) {
      const isTeardown = actionTable[made.plan.name].teardown !== undefined;
      const more = isTeardown ? await viewTeardownPlan(context, made.plan) : {};
      return c.json({ ...viewPlan(made.plan), ...more }, 200);
    }
    c.header('Location', `${originOf(c)}${path}/${made.action.id}`);
    return c.json(await viewActionInFull(context, made.action, { verbosity: 1 }), 201);
  });

  app.openapi(list, async (c) => {
    const query = c.req.valid('query');
    const rows = await listActions(db, { limit: query.limit, before: query.marker, open: query.open });
    return c.json(await viewActions(context, rows, query.verbosity));
  });

  app.openapi(show, async (c) => {
    const action = await getAction(db, c.req.valid('param').action);
    return c.json(await viewActionInFull(context, action, c.req.valid('query')));
  });

  app.openapi(showNodes, async (c) => {
    const { id } = await getAction(db, c.req.valid('param').action);
    return c.json({ nodes: await viewActionNodes(context, id, c.req.valid('query')) });
  });

  app.openapi(control, async (c) => {
    const { action, verb } = c.req.valid('param');
    await controlAction(context, action, { verb, caller: c.get('caller') });
    return c.body(null, 202);
  });

  app.openapi(showStep, async (c) => {
    const { action, step } = c.req.valid('param');
    const query = c.req.valid('query');
    requireFirstTry(query.try);
    return c.json(await viewActionStep(context, await getAction(db, action), { step, ...query }));
  });

  app.openapi(showLogs, async (c) => {
    const { action, step } = c.req.valid('param');
    requireFirstTry(c.req.valid('query').try);
    const found = await viewActionStep(context, await getAction(db, action), { step, verbosity: 0 });
    return c.text(await readActionLog(context, { actionId: action, name: found.id }));
  });

  app.openapi(showValidation, async (c) => {
    const { action, validation } = c.req.valid('param');
    return c.json(viewActionValidation(await getAction(db, action), validation));
  });

  app.openapi(showNote, async (c) => c.text((await getNote(db, c.req.valid('param').note)).text));

  app.openapi(siteStatuses, async (c) => c.json(await readSiteStatuses(context, c.req.valid('query').filters)));

  for (const each of ['/api/v1.0/workflows', '/api/v1.0/workflows/:workflow']) {
    app.all(each, () => {
      throw new AppError('not_supported', `workflows: actions have no workflow engine; see ${path} and its steps`);
    });
  }
}
