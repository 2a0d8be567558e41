import { buildConfigDrive } from '#conductor/boot/config-drive.ts';
import type { ConductorContext } from '#conductor/context.ts';
import type { Transaction } from '#conductor/db/open.ts';
import type { NodeRow } from '#conductor/db/schema/node.ts';
import { stopFlow } from '#conductor/flows/finish-flow.ts';
import { flowKinds } from '#conductor/flows/flow-kinds.ts';
import type { FlowKindName } from '#conductor/flows/flow-states.ts';
import { findOpenFlow, insertFlow } from '#conductor/flows/flow-store.ts';
import { planSteps, type RequestedStep } from '#conductor/flows/plan-steps.ts';
import { applyEvent } from '#conductor/nodes/apply-event.ts';
import { refuseLocked } from '#conductor/nodes/node-lock.ts';
import { deleteConfigDrive, getNode, saveConfigDrive } from '#conductor/nodes/node-store.ts';
import {
  legalVerbs,
  nextProvisionState,
  type ProvisionVerb,
  provisionVerbs,
  type VerbEvent,
} from '#conductor/nodes/provision-states.ts';
import { refuseInvalid } from '#conductor/nodes/validate-node.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface ProvisionRequest {
  readonly verb: ProvisionVerb;
  /** base64(gzip(iso)), a URL, or Ironic's dict `{meta_data, network_data, user_data, vendor_data}`. */
  readonly configDrive?: string | Record<string, unknown> | undefined;
  readonly deploySteps?: RequestedStep[] | undefined;
  readonly user?: string | undefined;
}

/** What each verb starts, and which interfaces must be valid for it. `undefined` kind = the state changes at once. */
const verbWork: Partial<Record<VerbEvent, { readonly kind?: FlowKindName; readonly needs: readonly string[] }>> = {
  manage: { kind: 'verify', needs: ['power', 'management'] },
  provide: { kind: 'clean', needs: ['power', 'management', 'network'] },
  deploy: { kind: 'deploy', needs: ['power', 'management', 'boot', 'deploy', 'network'] },
  rebuild: { kind: 'deploy', needs: ['power', 'management', 'boot', 'deploy', 'network'] },
  delete: { kind: 'teardown', needs: ['power', 'management', 'network'] },
  abort: { needs: [] },
};

/**
 * `PUT states/provision`: checks everything that can be checked now, then commits state and flow together and nudges.
 * @throws AppError `invalid_argument` (400) for a verb that is not possible now or an invalid node, `node_locked` (409)
 * while a conductor works on the node, `not_supported` for verbs that Baton lacks.
 */
export async function requestProvision(
  context: ConductorContext,
  node: NodeRow,
  request: ProvisionRequest,
): Promise<void> {
  const { event } = provisionVerbs[request.verb];
  refuseImpossible(node, request.verb);
  const work = verbWork[event];
  if (!work) throw new AppError('not_supported', `provision target '${request.verb}' is not supported yet`);
  if (node.maintenance && event !== 'delete' && event !== 'abort' && event !== 'manage') {
    throw new AppError('invalid_argument', `Node ${node.uuid} is in maintenance: '${request.verb}' is not possible.`);
  }
  await refuseInvalid(context, node, work.needs);
  const requested = request.deploySteps ?? [];
  const isDeploy = work.kind === 'deploy';
  if (isDeploy) planSteps(flowKinds.deploy, { requested }); // a bad request fails here, not half-way
  const configDrive =
    isDeploy && request.configDrive !== undefined
      ? await buildConfigDrive({ configDrive: request.configDrive, node, run: context.run })
      : undefined;
  await context.db.transaction(async (tx) => {
    await refuseLocked(tx, node.uuid);
    const current = await getNode(tx, node.uuid);
    if (isDeploy && event === 'deploy') await deleteConfigDrive(tx, node.uuid);
    if (configDrive !== undefined) await saveConfigDrive(tx, node.uuid, configDrive);
    await startWork(context, tx, current, { ...request, event, kind: work.kind });
  });
  context.nudge(node.uuid);
}

function refuseImpossible(node: NodeRow, verb: ProvisionVerb): void {
  const legal = legalVerbs(node.provisionState);
  if (legal.includes(verb)) return;
  throw new AppError(
    'invalid_argument',
    `The requested action '${verb}' can not be performed on node '${node.uuid}' while it is in state ` +
      `'${node.provisionState}'. Possible now: ${legal.join(', ') || 'nothing, until the work under way ends'}.`,
  );
}

async function startWork(
  context: ConductorContext,
  tx: Transaction,
  node: NodeRow,
  work: ProvisionRequest & { readonly event: VerbEvent; readonly kind: FlowKindName | undefined },
): Promise<void> {
  const options = { conductor: context.config.conductorName, user: work.user };
  const flow = await findOpenFlow(tx, node.uuid);
  if (flow) {
    const error = `stopped by the operator's '${work.verb}'`;
    await stopFlow(context, tx, flow, { error, thenEnd: work.event !== 'abort' });
    // the flow's own end moves the node, once it is off and isolated
    if (work.event === 'abort') return;
  }
  // manageable again needs no proof: the BMC was proven when the node left enroll
  const kind = nextProvisionState(node.provisionState, work.event) === 'manageable' ? undefined : work.kind;
  const moved = await applyEvent(tx, node, work.event, {
    ...options,
    target: kind ? flowKinds[kind].target : null,
    ...(kind ? { lastError: null } : {}),
  });
  if (kind === 'clean' && !(node.automatedClean ?? context.config.automatedClean)) {
    await applyEvent(tx, moved, 'done', { ...options, target: null });
    return;
  }
  if (!kind) return;
  const requested = kind === 'deploy' ? (work.deploySteps ?? []) : [];
  await insertFlow(tx, {
    nodeUuid: node.uuid,
    kind,
    requestedBy: work.user,
    requestedSteps: requested,
    steps: planSteps(flowKinds[kind], { requested }),
  });
}
