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
import { changeUnlocked } from '#conductor/nodes/change-unlocked.ts';
import { saveConfigDrive, updateNode } from '#conductor/nodes/node-store.ts';
import { refuseProtected } from '#conductor/nodes/protected-node.ts';
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
  refuseForbidden(node, request.verb);
  await refuseInvalid(context, node, work.needs);
  const requested = request.deploySteps ?? [];
  const isDeploy = work.kind === 'deploy';
  if (isDeploy) planSteps(flowKinds.deploy, { requested }); // a bad request fails here, not half-way
  const given = isDeploy ? givenConfigDrive(node, request) : undefined;
  const configDrive =
    given === undefined ? undefined : await buildConfigDrive({ configDrive: given, node, run: context.run });
  await changeUnlocked(context, node.uuid, async (tx, current) => {
    refuseImpossible(current, request.verb);
    refuseForbidden(current, request.verb);
    // one given earlier stays until the instance is released: a repeated deploy is of the same instance
    if (configDrive !== undefined) await saveConfigDrive(tx, node.uuid, configDrive);
    if (request.configDrive !== undefined && 'configdrive' in current.instanceInfo) {
      const { configdrive: _, ...instanceInfo } = current.instanceInfo;
      await updateNode(tx, node.uuid, { instanceInfo });
    }
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

/** @throws AppError for what the node's maintenance, protection or retirement forbids, in Ironic's words. */
function refuseForbidden(node: NodeRow, verb: ProvisionVerb): void {
  const { event } = provisionVerbs[verb];
  if (event === 'delete' || event === 'rebuild') refuseProtected(node);
  if (event === 'provide' && node.retired) {
    throw new AppError(
      'invalid_argument',
      `The ${verb} operation can't be performed on node ${node.uuid} because it is retired.`,
    );
  }
  if (node.maintenance && event !== 'delete' && event !== 'abort' && event !== 'manage') {
    throw new AppError('invalid_argument', `Node ${node.uuid} is in maintenance: '${verb}' is not possible.`);
  }
}

/**
 * The request's config drive, or the one that a client (nova, metalsmith) has patched into the node.
 * @throws AppError `invalid_argument` for one that is neither text nor a dict.
 */
function givenConfigDrive(node: NodeRow, request: ProvisionRequest): ProvisionRequest['configDrive'] {
  if (request.configDrive !== undefined) return request.configDrive;
  const patched = node.instanceInfo['configdrive'];
  if (patched === undefined || patched === null || typeof patched === 'string') return patched ?? undefined;
  if (typeof patched === 'object' && !Array.isArray(patched)) return patched as Record<string, unknown>;
  throw new AppError('invalid_argument', 'instance_info.configdrive: it must be text or an object with meta_data …');
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
