import type { ActionStepName } from '#conductor/model/action-table.ts';
import type { ActionWork, StepEnd } from '#conductor/sites/actions/action-work.ts';
import { baremetalNodes } from '#conductor/sites/actions/steps/baremetal-nodes.ts';
import { finalReport } from '#conductor/sites/actions/steps/final-report.ts';
import { preflight } from '#conductor/sites/actions/steps/preflight.ts';
import { tagRevision } from '#conductor/sites/actions/steps/tag-revision.ts';
import { validateSiteDesign } from '#conductor/sites/actions/steps/validate-site-design.ts';
import { verifySite } from '#conductor/sites/actions/steps/verify-site.ts';
import { workOnNodes } from '#conductor/sites/actions/steps/work-on-nodes.ts';

/**
 * THE table of what the steps of actions do. Each may be run again by another conductor at any time: what it has done
 * stands in the database, or does no harm twice.
 */
export const actionSteps: Readonly<Record<ActionStepName, (work: ActionWork) => Promise<StepEnd>>> = {
  preflight,
  validate_site_design: validateSiteDesign,
  verify_site: verifySite,
  baremetal_nodes: baremetalNodes,
  relabel_nodes: (work) => workOnNodes(work, { step: 'relabel_nodes', does: work.operations.relabelNodes }),
  final_report: finalReport,
  tag_revision: tagRevision,
};
