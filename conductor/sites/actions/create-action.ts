import { randomUUID } from 'node:crypto';
import { insertSiteFlow } from '#conductor/flows/log/flow-store.ts';
import {
  describeState,
  findOpenAction,
  getAction,
  notifyRunners,
  type SiteAction,
} from '#conductor/flows/site-actions/action-store.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import { isOlderThan, workOfGates, workOfRollout } from '#conductor/kernel/conductors/conductor-store.ts';
import { refusingDuplicates } from '#conductor/kernel/db/faults.ts';
import { siteActionCommands, siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { newRemark, remarkError } from '#conductor/model/remarks/remark-words.ts';
import { requestIdsOf } from '#conductor/model/request-ids.ts';
import type { ActionName, ActionParameters } from '#conductor/model/site/action-parameters.ts';
import {
  actionsLike,
  actionTable,
  readActionName,
  readActionParameters,
  readSiteDefaults,
} from '#conductor/model/site/action-table.ts';
import { hasRollout } from '#conductor/model/site/rollout.ts';
import { errorsIn, type SiteFault } from '#conductor/model/site/site-report.ts';
import type { SiteRun } from '#conductor/model/site/site-run.ts';
import { addNotes, type Note, notifyOfAction } from '#conductor/sites/actions/action-notes.ts';
import { findTargetRevision } from '#conductor/sites/actions/find-target-revision.ts';
import {
  type Foreseen,
  foreseeFailures,
  requireNoFailure,
  requireTeardownPossible,
} from '#conductor/sites/actions/foresee-failures.ts';
import { clustersOf, planTeardownRun } from '#conductor/sites/actions/plan-teardown-run.ts';
import { newUlid } from '#conductor/sites/actions/ulid.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { namesThereAre } from '#conductor/sites/documents/schema-faults.ts';
import { type CheckContext, checkRevision } from '#conductor/sites/revisions/check-revision.ts';
import { type EtcdSite, readEtcdSite } from '#conductor/sites/revisions/find-design.ts';
import { listTaggedRevisions } from '#conductor/sites/revisions/revision-store.ts';
import { intermediateCommits } from '#conductor/sites/revisions/revision-tags.ts';
import type { Site } from '#conductor/sites/site.ts';
import { planSite } from '#conductor/sites/strategy/plan-site.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface ActionRequest {
  readonly name: string;
  readonly parameters: JsonObject;
  /** The query flag: the same as the parameter. */
  readonly allowIntermediateCommits?: boolean | undefined;
  readonly contextMarker?: string | undefined;
  readonly caller: Caller;
}

/** Answer of a dry run: nothing was made. */
export interface ActionPlan {
  readonly name: ActionName;
  readonly parameters: ActionParameters;
  /** Parameters, among these, that the site's documents have. */
  readonly fromSite: Readonly<Record<string, number>>;
  readonly revisionId: number;
  readonly site: Site;
  readonly faults: readonly SiteFault[];
  readonly run: SiteRun;
  /** Failures that are foreseen of an action that deploys groups. */
  readonly foreseen?: Foreseen;
}

type CreateContext = CheckContext &
  Pick<SitesContext, 'clock' | 'config' | 'conductors' | 'database' | 'db' | 'log' | 'secrets'>;

/** Facts that have been found out before an action is made. */
interface Checked {
  readonly name: ActionName;
  readonly parameters: ActionParameters;
  readonly fromSite: ActionPlan['fromSite'];
  readonly allowIntermediateCommits: boolean;
  readonly revisionId: number;
  readonly between: readonly number[];
  readonly site: Site;
  readonly faults: readonly SiteFault[];
  /** The etcd of an action that tears nodes down. */
  readonly etcd?: EtcdSite | undefined;
}

/**
 * Makes a site action, once all that can be said against it has been looked at (airship.md §4.1); a free conductor runs it.
 * @throws AppError `invalid_argument` (name, parameters, no such revision, faults of documents), `conflict` (another
 * action is under way, commits that nobody has looked at lie between, a node that must not be torn down).
 */
export async function createAction(
  context: CreateContext,
  request: ActionRequest,
  check: typeof checkRevision = checkRevision,
): Promise<{ readonly action: SiteAction } | { readonly plan: ActionPlan }> {
  const checked = await checkRequest(context, request, check);
  const { name, parameters, fromSite, revisionId, site, faults } = checked;
  const isTeardown = isTornDown(name);
  if (parameters.dry_run) {
    const plan = { name, parameters, fromSite, revisionId, site, faults };
    if (isTeardown) return { plan: { ...plan, run: planTeardownRun(site, parameters) } };
    const run = planSite(site);
    return { plan: { ...plan, run, foreseen: await foreseeFailures(context, { site, run }) } };
  }
  const etcd = await requireStartable(context, checked);
  const action = await insertAction(context, request, { ...checked, etcd });
  context.log.info({ action: action.id, name, revision: revisionId, user: action.user }, 'site action created');
  return { action };
}

function isTornDown(name: ActionName): boolean {
  return actionTable[name].teardown !== undefined;
}

/**
 * Plans an action that all checks of `createAction` let through, and makes none.
 * @throws AppError as `createAction`
 */
export async function planAction(
  context: CreateContext,
  request: ActionRequest,
): Promise<ActionPlan & { readonly etcd?: EtcdSite }> {
  const checked = await checkRequest(context, request, checkRevision);
  const { name, parameters, fromSite, revisionId, site, faults } = checked;
  const etcd = await requireStartable(context, checked);
  const run = isTornDown(name) ? planTeardownRun(site, parameters) : planSite(site);
  return { name, parameters, fromSite, revisionId, site, faults, run, ...(etcd ? { etcd } : {}) };
}

/**
 * Refuses an action that can only fail.
 * @returns the etcd of one that tears nodes down
 */
async function requireStartable(
  context: CreateContext,
  { name, parameters, revisionId, site }: Checked,
): Promise<EtcdSite | undefined> {
  await requireCurrentConductors(context, name);
  const etcd = isTornDown(name) ? await readEtcdSite(context, { revisionId, site }) : undefined;
  if (etcd) await requireTeardownPossible(context, { name, parameters, site, etcd });
  else if (actionTable[name].isTrueUp)
    requireNoFailure(name, await foreseeFailures(context, { site, run: planSite(site) }));
  return etcd;
}

/** They could not run it, and would clean in place of wiping what it releases. */
async function requireCurrentConductors({ conductors }: CreateContext, name: ActionName): Promise<void> {
  const { needs = 0 } = actionTable[name];
  const older = (await conductors.live()).filter((each) => isOlderThan(needs, each));
  if (needs === 0 || older.length === 0) return;
  const names = older.map(({ hostname }) => hostname).join(', ');
  throw new AppError(
    'conflict',
    `${name} not started: conductors of an older release are alive, which do not know it: ${names}; bring them to this ` +
      'release, or stop them',
    { details: { reason: 'OlderConductors', conductors: names } },
  );
}

async function checkRequest(
  context: CreateContext,
  request: ActionRequest,
  check: typeof checkRevision,
): Promise<Checked> {
  const { db } = context;
  const name = readActionName(request.name);
  const { isTrueUp } = actionTable[name];
  const given = readActionParameters(name, request.parameters);
  if (!given.dry_run) {
    const open = await findOpenAction(db, actionsLike(name));
    if (open) throw anotherIsOpen(name, open);
  }
  const revisionId = await findTargetRevision(db, { name, parameters: given });
  const between = intermediateCommits(await listTaggedRevisions(db), revisionId);
  const allowIntermediateCommits =
    request.allowIntermediateCommits === true || given['allow-intermediate-commits'] === true;
  if (isTrueUp && between.length > 0 && !allowIntermediateCommits) throw commitsBetween(between, revisionId);
  const { site, faults } = await check(context, revisionId);
  if (!site) {
    const errors = errorsIn(faults).length;
    const message = `The documents of revision ${revisionId} have faults: ${errors}`;
    throw new AppError('invalid_argument', message, { details: { reason: 'InvalidConfigurationDocuments', faults } });
  }
  const fromSite = readSiteDefaults(name, given, site.settings.actions);
  const parameters = { ...given, ...fromSite };
  requireKnownNodes(site, parameters, revisionId);
  return { name, parameters, fromSite, allowIntermediateCommits, revisionId, between, site, faults };
}

function anotherIsOpen(name: ActionName, open: SiteAction): AppError {
  const { id } = open;
  const remark = newRemark('action-under-way', { name, open: open.name, id, state: describeState(open) });
  return remarkError('conflict', remark, { reason: 'ActionUnderWay', action: id });
}

function commitsBetween(between: readonly number[], revision: number): AppError {
  const remark = newRemark('intermediate-commits', { between, revision });
  return remarkError('conflict', remark, { reason: 'IntermediateCommits', revisions: between });
}

function requireKnownNodes(site: Site, { target_nodes: names = [] }: ActionParameters, revisionId: number): void {
  const unknown = names.filter((name) => !site.nodes.has(name));
  if (unknown.length === 0) return;
  throw new AppError(
    'invalid_argument',
    `parameters.target_nodes: not in the documents of revision ${revisionId}: ${unknown.join(', ')}${namesThereAre(unknown[0] ?? '', [...site.nodes.keys()])}`,
  );
}

async function insertAction(context: CreateContext, request: ActionRequest, checked: Checked): Promise<SiteAction> {
  const { db, clock } = context;
  const { name, revisionId, allowIntermediateCommits, fromSite } = checked;
  const user = request.caller.user ?? null;
  const insert = () =>
    db.transaction(async (tx) => {
      const actionId = newUlid(clock.now());
      await tx.insert(siteActions).values({
        id: actionId,
        parameters: { ...request.parameters, ...fromSite },
        revisionId,
        contextMarker: request.contextMarker ?? randomUUID(),
        allowIntermediateCommits,
        validations: [...checked.faults],
        ...needsOf(checked),
        clusters: checked.etcd ? clustersOf(checked.etcd, context.config) : null,
      });
      await insertSiteFlow(tx, { actionId, name, user, ...requestIdsOf(request.caller) });
      const action = await getAction(tx, actionId);
      await tx.insert(siteActionCommands).values({ actionId, command: 'invoke', user });
      await addNotes(tx, actionId, firstNotes(checked));
      await notifyOfAction(tx, action);
      await notifyRunners(tx);
      return action;
    });
  try {
    return await refusingDuplicates(insert, () => `${name} not started: another site action is under way`);
  } catch (error) {
    // of two that came at once the database has taken the other one
    const open =
      error instanceof AppError && error.code === 'conflict' ? await findOpenAction(db, actionsLike(name)) : undefined;
    throw open ? anotherIsOpen(name, open) : error;
  }
}

/** Level of knowledge that the groups' rollouts need of a conductor. */
function needsOf({ name, site }: Checked): { readonly needs?: number } {
  const { groups } = site.strategy;
  if (actionTable[name].teardown !== undefined || !groups.some(hasRollout)) return {};
  return { needs: groups.some(({ health }) => health !== undefined) ? workOfGates : workOfRollout };
}

function firstNotes(checked: Checked): Note[] {
  const { revisionId, between, name, parameters, etcd } = checked;
  const role = parameters['target-revision'] ?? actionTable[name].revision;
  const text = `Configdoc revision ${revisionId}${role === undefined ? '' : ` (${role})`}`;
  const notes: Note[] = [text, ...describeFromSite(checked), ...(etcd?.remarks ?? [])].map((each) => ({
    verbosity: 1,
    text: each,
  }));
  if (between.length > 0 && actionTable[name].isTrueUp) {
    const skipped = `the check for intermediate commits is skipped, as asked; there are: revision ${between.join(', ')}`;
    notes.push({ verbosity: 1, text: skipped });
  }
  return notes;
}

/** Nothing, where all was given. */
export function describeFromSite({ fromSite, site }: Pick<ActionPlan, 'fromSite' | 'site'>): string[] {
  const each = Object.entries({ ...fromSite, ...site.settings.stated }).map(([key, value]) => `${key}=${value}`);
  return each.length === 0 ? [] : [`from the site's DeploymentConfiguration: ${each.join(', ')}`];
}
