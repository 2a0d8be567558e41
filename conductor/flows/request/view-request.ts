import type { PlanView } from '#conductor/api/flows.ts';
import type { FlowsContext } from '#conductor/flows/context.ts';
import { isRefusal } from '#conductor/flows/plan/is-refusal.ts';
import { viewPlan } from '#conductor/flows/plan/view-plan.ts';
import { admit, type Work } from '#conductor/flows/request/admit.ts';
import type { ProvisionRequest } from '#conductor/flows/request/provision-request.ts';
import { readAdmission, readOpenFlow } from '#conductor/flows/request/read-admission.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import type { ProvisionVerb } from '#conductor/model/provision-states.ts';
import { wipeOf } from '#conductor/nodes/requested-wipe.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

/** A request that is only looked at. */
export interface PlannedRequest extends ProvisionRequest {
  /** The flow that the verb starts where it is possible. */
  readonly kind: FlowKindName;
  /** Verb that the plan may stand for as well: a wipe comes after the release of an instance, too. */
  readonly orVerb?: ProvisionVerb | undefined;
}

/**
 * Makes the plan of a provision request, judged as the request itself: `refused` has what it would be refused with now. A
 * conductor that holds the node for a moment is no refusal, for the request waits for it.
 * @throws AppError the request's own refusal where no plan can be made, what planning throws where it would be accepted
 */
export async function viewRequest(context: FlowsContext, node: NodeRow, request: PlannedRequest): Promise<PlanView> {
  const { refusal, work } = await judge(context, node, request);
  try {
    const wipe = work ? work.wipe : plannedWipe(node, request);
    const kind = work?.kind ?? (wipe ? 'wipe' : request.kind);
    const asked = { kind, wipe, requested: request.steps ?? [], disableRamdisk: request.disableRamdisk };
    const view = await viewPlan(context, node, asked, request.caller);
    const refused = refusal ? { code: refusal.code, message: errorChain(refusal) } : null;
    return { ...view, refused, warnings: [...(work?.isSkipped ? [nothingToClean] : []), ...view.warnings] };
  } catch (error) {
    throw refusal && isRefusal(error) ? refusal : error;
  }
}

const nothingToClean =
  'Automated cleaning is switched off: no step of this plan is run, and the node becomes available at once.';

async function judge(
  context: FlowsContext,
  node: NodeRow,
  request: PlannedRequest,
): Promise<{ readonly refusal?: AppError | undefined; readonly work?: Work | undefined }> {
  const flow = await readOpenFlow(context, node);
  const judgeVerb = async (verb: ProvisionVerb) => {
    const { facts } = await readAdmission(context, node, { ...request, verb });
    return admit(node, { ...request, verb }, { ...facts, flow });
  };
  const judged = await judgeVerb(request.verb);
  if (!judged.refusal || !request.orVerb) return judged;
  // its own work is the teardown; the wipe is what comes after
  return (await judgeVerb(request.orVerb)).refusal ? judged : {};
}

/** Finds the wipe that is looked at, where the request for it would be refused. */
function plannedWipe(node: NodeRow, request: PlannedRequest): ReturnType<typeof wipeOf> {
  return request.verb === 'provide' ? wipeOf(node, request) : undefined;
}
