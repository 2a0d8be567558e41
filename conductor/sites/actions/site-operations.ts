import { advanceNodes } from '#conductor/sites/nodes/advance-nodes.ts';
import { relabelNodes } from '#conductor/sites/nodes/relabel-nodes.ts';
import { verifyNodes } from '#conductor/sites/nodes/verify-nodes.ts';
import { checkRevision } from '#conductor/sites/revisions/check-revision.ts';
import { readRevision } from '#conductor/sites/revisions/read-revision.ts';

/** What an action does to the world, and how it reads its documents: tests of the runner give it other hands. */
export interface SiteOperations {
  readonly checkRevision: typeof checkRevision;
  readonly readRevision: typeof readRevision;
  readonly advanceNodes: typeof advanceNodes;
  readonly verifyNodes: typeof verifyNodes;
  readonly relabelNodes: typeof relabelNodes;
}

export const siteOperations: SiteOperations = { checkRevision, readRevision, advanceNodes, verifyNodes, relabelNodes };
