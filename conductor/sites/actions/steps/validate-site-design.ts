import { eq } from 'drizzle-orm';
import { siteActions } from '#conductor/db/schema/site-action.ts';
import { actionTable } from '#conductor/sites/actions/action-table.ts';
import type { ActionWork, StepEnd } from '#conductor/sites/actions/action-work.ts';
import { countNodes } from '#conductor/sites/actions/note-changes.ts';
import { insertRun } from '#conductor/sites/actions/run-store.ts';
import { planSite } from '#conductor/sites/strategy/plan-site.ts';
import type { SiteRun } from '#conductor/sites/strategy/site-run.ts';

const step = 'validate_site_design';

/**
 * The documents once more, by what conductors know now; then groups and their nodes are chosen, once and for all of the
 * action. From here on a failure is tagged.
 */
export async function validateSiteDesign({ context, hands, action }: ActionWork): Promise<StepEnd> {
  const { id, revisionId } = action;
  const { site, faults } = await hands.checkRevision(context, revisionId);
  const validations = [...faults];
  if (!site) {
    const errors = faults.filter(({ level }) => level === 'Error').map(({ message }) => message);
    return {
      state: 'failed',
      error: `the documents of revision ${revisionId} have faults: ${errors.join('; ')}`,
      write: async (tx) => {
        await tx.update(siteActions).set({ validations }).where(eq(siteActions.id, id));
      },
    };
  }
  const run = actionTable[action.name].steps.includes('baremetal_nodes') ? planSite(site) : undefined;
  const text = run ? noteRun(site.strategy.name, run) : `${countNodes(site.nodes.size)} in the documents`;
  return {
    state: 'done',
    notes: [{ step, verbosity: 1, text }],
    write: async (tx) => {
      const maxParallelGroups = run?.maxParallelGroups ?? null;
      await tx
        .update(siteActions)
        .set({ validations, validated: true, maxParallelGroups })
        .where(eq(siteActions.id, id));
      if (run) await insertRun(tx, id, run);
    },
  };
}

function noteRun(strategy: string, { groups, nodes }: SiteRun): string {
  if (groups.length === 0) return `deployment strategy ${strategy} has no groups: nothing is deployed`;
  const names = groups.map(({ definition }) => definition.name).join(', ');
  return `deployment strategy ${strategy}: ${countNodes(nodes.size)} in groups ${names}`;
}
