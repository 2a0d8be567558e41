import { encrypt } from 'unixcrypt';
import type { FlowsContext } from '#conductor/flows/context.ts';
import { findOpenFlow } from '#conductor/flows/log/flow-store.ts';
import { findRequestedImage } from '#conductor/flows/plan/find-planned-image.ts';
import { kindStartedOn } from '#conductor/flows/plan/kind-on-node.ts';
import { type PlanContext, requireSamePlan } from '#conductor/flows/plan/read-plan.ts';
import { type Admission, admit, type Work } from '#conductor/flows/request/admit.ts';
import type { ProvisionRequest } from '#conductor/flows/request/provision-request.ts';
import { abortTeardown, askToAbort } from '#conductor/flows/request/push-flow.ts';
import { readAdmission, readFlowFacts } from '#conductor/flows/request/read-admission.ts';
import { onlyReads, planWork, startWork } from '#conductor/flows/request/start-work.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { FlowRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { sealConfigDrive, sealNode } from '#conductor/kernel/secrets/node-secrets.ts';
import { provisionVerbs } from '#conductor/model/provision-states.ts';
import { requireKnownMachine } from '#conductor/nodes/change/restored-node.ts';
import { changeUnlocked } from '#conductor/nodes/node-lock.ts';
import { saveConfigDrive, updateNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Serves `PUT states/provision`: checks everything that can be checked now, then commits state and flow together and nudges.
 * @throws AppError `invalid_argument` (400) for a verb that is not possible now, steps that can't be or an invalid node,
 * `conflict` (409) when the plan is not the one that was read, `node_locked` (409) while a conductor works on the node,
 * `unavailable` (503) when none is alive that could, `lease_lost` when the site action that wants it has ended or is another
 * conductor's.
 */
export async function requestProvision(
  context: FlowsContext,
  node: NodeRow,
  { rescuePassword, ...request }: ProvisionRequest,
): Promise<void> {
  const { secrets } = context;
  const { event } = provisionVerbs[request.verb];
  requireKnownMachine(node, request.verb);
  // such a flow leaves the node in a state in which there is nothing to abort
  if (event === 'abort' && (await abortTeardown(context, node.uuid, `stopped by the operator's '${request.verb}'`)))
    return;
  const { facts, configDrive } = await readAdmission(context, node, request);
  requireAdmitted(admit(node, request, facts));
  if (event === 'abort' && (await askToAbort(context, node.uuid, `stopped by the operator's '${request.verb}'`)))
    return;
  // a registry is asked before the node's row is locked
  const kind = request.planHash === undefined ? undefined : kindStartedOn(node, event);
  const image = await findRequestedImage(context, node, kind, request.caller);
  const pinnedImage = image?.pinned;
  // thousands of rounds, through which nobody should wait for the node's row
  const rescueHash = rescuePassword === undefined ? undefined : encrypt(rescuePassword);
  const startOn = async (tx: Transaction, current: NodeRow, open: FlowRow | undefined) => {
    const flow = await readFlowFacts(tx, current, request, open);
    // nobody else works on it now
    const work = requireAdmitted(admit(current, request, { ...facts, holder: undefined, flow }));
    const inTransaction = { ...context, db: tx };
    if (request.planHash !== undefined) await requireReadPlan(inTransaction, current, { request, work, pinnedImage });
    // one given earlier stays until the instance is released: a repeated deploy is of the same instance
    if (configDrive !== undefined)
      await saveConfigDrive(tx, node.uuid, sealConfigDrive(secrets, node.uuid, configDrive));
    const instanceInfo = changedInstanceInfo(current, request, rescueHash);
    const change = instanceInfo ? sealNode(secrets, node.uuid, { instanceInfo }, current) : {};
    if (instanceInfo) await updateNode(tx, node.uuid, change);
    return startWork(context, tx, { ...current, ...change }, { request, work, flow: open, pinnedImage });
  };
  const seizes = event === 'abort' ? (_node: NodeRow, flow: FlowRow | undefined) => onlyReads(flow) : undefined;
  const readFlow = (tx: Transaction) => findOpenFlow(tx, node.uuid);
  const toDo = await changeUnlocked(context, node.uuid, startOn, undefined, readFlow, seizes);
  if (toDo === 'to do') context.nudge(node.uuid);
}

/** Finds what the request puts into the node's instance, or takes from it; `undefined` = nothing. */
function changedInstanceInfo(
  node: NodeRow,
  request: Pick<ProvisionRequest, 'verb' | 'configDrive'>,
  rescueHash: string | undefined,
): NodeRow['instanceInfo'] | undefined {
  const { configdrive, hashed_rescue_password: hash, ...rest } = node.instanceInfo;
  const keep = configdrive === undefined ? rest : { ...rest, configdrive };
  if (rescueHash !== undefined) return { ...keep, hashed_rescue_password: rescueHash };
  if (provisionVerbs[request.verb].event === 'unrescue') return keep;
  if (request.configDrive === undefined || configdrive === undefined) return undefined;
  return hash === undefined ? rest : { ...rest, hashed_rescue_password: hash };
}

function requireAdmitted({ work, refusal }: Admission): Work {
  if (refusal) throw refusal;
  return work;
}

/** @throws AppError `conflict` when the node as it is now has another plan than the operator's, or none that is whole. */
async function requireReadPlan(
  context: PlanContext,
  node: NodeRow,
  {
    request,
    work,
    pinnedImage,
  }: { readonly request: ProvisionRequest; readonly work: Work; readonly pinnedImage: string | undefined },
): Promise<void> {
  if (!work.kind) return;
  const plan = await planWork(context, node, { kind: work.kind, wipe: work.wipe, request, pinnedImage });
  if (!plan.isComplete) {
    throw new AppError(
      'conflict',
      "plan_hash: this node's ramdisk has not been asked for its steps yet, so that no plan of it is complete. " +
        'Inspect or clean the node first, or go on without plan_hash.',
    );
  }
  await requireSamePlan(plan, request.planHash);
}
