import { countDistinct, eq } from 'drizzle-orm';
import type { SiteAction } from '#conductor/flows/site-actions/action-store.ts';
import { insertRun } from '#conductor/flows/site-actions/run-store.ts';
import { isOlderThan } from '#conductor/kernel/conductors/conductor-store.ts';
import { siteNodes } from '#conductor/kernel/db/schema/site.ts';
import { siteActions } from '#conductor/kernel/db/schema/site-action.ts';
import type { ActionClusters, ActionName } from '#conductor/model/site/action-parameters.ts';
import { actionTable, readActionParameters } from '#conductor/model/site/action-table.ts';
import { errorsIn } from '#conductor/model/site/site-report.ts';
import type { SiteRun } from '#conductor/model/site/site-run.ts';
import { countNodes } from '#conductor/sites/actions/action-notes.ts';
import type { ActionWork, StepEnd } from '#conductor/sites/actions/action-work.ts';
import { clustersOf, planTeardownRun } from '#conductor/sites/actions/plan-teardown-run.ts';
import { readEtcdSite } from '#conductor/sites/revisions/find-design.ts';
import type { Site } from '#conductor/sites/site.ts';
import { planSite } from '#conductor/sites/strategy/plan-site.ts';

/** Is there who can do the work, and for `update_site` anything to update (airship.md §4.5)? */
export async function preflight({ context, action }: ActionWork): Promise<StepEnd> {
  const live = await context.conductors.live();
  if (live.length === 0) return { event: 'failed', error: 'no conductor is alive' };
  const { needs = 0 } = actionTable[action.name];
  const older = live.filter((each) => needs > 0 && isOlderThan(needs, each)).map(({ hostname }) => hostname);
  if (older.length > 0) {
    const error = `conductors of an older release are alive, which do not know ${action.name}: ${older.join(', ')}`;
    return { event: 'failed', error };
  }
  const names = live.map(({ hostname }) => hostname).join(', ');
  const notes = [{ step: 'preflight', verbosity: 2, text: `conductors: ${names}` }] as const;
  if (action.name !== 'update_site') return { event: 'succeeded', notes };
  const parameters = readActionParameters(action.name, action.parameters);
  const [row] = await context.db.select({ count: countDistinct(siteNodes.name) }).from(siteNodes);
  if ((row?.count ?? 0) > 0 || parameters['continue-on-fail'] === true) return { event: 'succeeded', notes };
  const error =
    'no node of this site is deployed yet: use deploy_site, or give continue-on-fail=true to deploy whatever is missing';
  return { event: 'failed', error, notes };
}

const step = 'validate_site_design';

/**
 * The documents once more, by what conductors know now; then groups and their nodes are chosen, once and for all of the
 * action. From here on a failure is tagged.
 */
export async function validateSiteDesign({ context, operations, action }: ActionWork): Promise<StepEnd> {
  const { id, revisionId } = action;
  const { site, faults } = await operations.checkRevision(context, revisionId);
  const validations = [...faults];
  if (!site) {
    const errors = errorsIn(faults);
    return {
      event: 'failed',
      error: `the documents of revision ${revisionId} have faults: ${errors.join('; ')}`,
      write: async (tx) => {
        await tx.update(siteActions).set({ validations }).where(eq(siteActions.id, id));
      },
    };
  }
  const run = planRun(action, site);
  const etcd = actionTable[action.name].teardown ? await readEtcdSite(context, { revisionId, site }) : site;
  const clusters = decideClusters(action, clustersOf(etcd, context.config));
  const text = run ? noteRun(action.name, site.strategy.name, run) : `${countNodes(site.nodes.size)} in the documents`;
  return {
    event: 'succeeded',
    notes: [{ step, verbosity: 1, text }],
    write: async (tx) => {
      const maxParallelGroups = run?.maxParallelGroups ?? null;
      await tx
        .update(siteActions)
        .set({ validations, validated: true, maxParallelGroups, clusters })
        .where(eq(siteActions.id, id));
      if (run) await insertRun(tx, id, run);
    },
  };
}

/** Once and for all of the action: a conductor that knows less must not leave out what was planned. */
function decideClusters(
  { name, clusters: planned }: Pick<SiteAction, 'name' | 'clusters'>,
  known: ActionClusters,
): ActionClusters | null {
  if (actionTable[name].teardown === undefined) return null;
  return { kubernetes: known.kubernetes || planned?.kubernetes === true, etcd: known.etcd };
}

function planRun({ name, parameters }: Pick<SiteAction, 'name' | 'parameters'>, site: Site): SiteRun | undefined {
  const { steps, teardown } = actionTable[name];
  if (!steps.includes('baremetal_nodes')) return undefined;
  return teardown === undefined ? planSite(site) : planTeardownRun(site, readActionParameters(name, parameters));
}

function noteRun(action: ActionName, strategy: string, { groups, nodes }: SiteRun): string {
  const names = groups.map(({ definition }) => definition.name).join(', ');
  if (actionTable[action].teardown !== undefined) {
    return `${countNodes(nodes.size)}, one after another: ${names}`;
  }
  if (groups.length === 0) return `deployment strategy ${strategy} has no groups: nothing is deployed`;
  return `deployment strategy ${strategy}: ${countNodes(nodes.size)} in groups ${names}`;
}
