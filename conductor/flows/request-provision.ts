import { encrypt } from 'unixcrypt';
import type { Caller } from '#conductor/auth/caller.ts';
import { buildConfigDrive } from '#conductor/boot/config-drive.ts';
import { lookForConductor, refuseUnattended } from '#conductor/conductors/node-conductor.ts';
import type { ConductorContext } from '#conductor/context.ts';
import type { Transaction } from '#conductor/db/open.ts';
import type { FlowRow } from '#conductor/db/schema/flow.ts';
import type { NodeRow } from '#conductor/db/schema/node.ts';
import { fakesFlow } from '#conductor/flows/fakes-flow.ts';
import { stopFlow } from '#conductor/flows/finish-flow.ts';
import { flowKinds, isBesideStates } from '#conductor/flows/flow-kinds.ts';
import type { FlowKindName, WipeWish } from '#conductor/flows/flow-states.ts';
import { findOpenFlow, insertFlow, listSteps, recordStepEvent, updateFlow } from '#conductor/flows/flow-store.ts';
import type { RequestedStep } from '#conductor/flows/planned-step.ts';
import { type Plan, readPlan, refuseOtherPlan } from '#conductor/flows/read-plan.ts';
import { sealSteps } from '#conductor/flows/seal-steps.ts';
import { verbWork } from '#conductor/flows/verb-work.ts';
import { applyEvent } from '#conductor/nodes/apply-event.ts';
import { changeUnlocked } from '#conductor/nodes/change-unlocked.ts';
import { checkFetched } from '#conductor/nodes/image-urls.ts';
import { refuseReserved } from '#conductor/nodes/node-lock.ts';
import { saveConfigDrive, updateNode } from '#conductor/nodes/node-store.ts';
import { refuseProtected } from '#conductor/nodes/protected-node.ts';
import {
  legalVerbs,
  nextProvisionState,
  type ProvisionVerb,
  provisionVerbs,
  type VerbEvent,
} from '#conductor/nodes/provision-states.ts';
import { refuseOwned } from '#conductor/nodes/refuse-owned.ts';
import { refuseInvalid } from '#conductor/nodes/validate-node.ts';
import { openNodeDocument, sealConfigDrive, sealNode } from '#conductor/secrets/node-secrets.ts';
import { refuseSealedTexts } from '#conductor/secrets/sealed-document.ts';
import type { Secrets } from '#conductor/secrets/secrets.ts';
import { requireAction } from '#conductor/sites/actions/action-lease.ts';
import { abortTeardown } from '#conductor/teardown/abort-teardown.ts';
import { refuseUnderWay } from '#conductor/teardown/refuse-under-way.ts';
import { refuseForeignWipe, refuseOwing, wipeOf } from '#conductor/teardown/wipe-wish.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface ProvisionRequest {
  readonly verb: ProvisionVerb;
  /** base64(gzip(iso)), a URL, or Ironic's dict `{meta_data, network_data, user_data, vendor_data}`. */
  readonly configDrive?: string | Record<string, unknown> | undefined;
  /** Of a deploy by priority; of manual cleaning and service the whole list, in order. */
  readonly steps?: readonly RequestedStep[] | undefined;
  readonly disableRamdisk?: boolean | undefined;
  /** The plan that the operator has read. */
  readonly planHash?: string | undefined;
  /** In plain text; kept as a hash. */
  readonly rescuePassword?: string | undefined;
  /** With `deleted` and `provide`: the disks are wiped in place of automated cleaning, whatever the settings of that. */
  readonly wipe?: WipeWish | undefined;
  readonly caller: Pick<Caller, 'user' | 'project' | 'via'>;
  /** Only while the node is nobody's. */
  readonly isUnowned?: boolean;
  /** The site action that wants it; its flows leave the ramdisk running for each other. */
  readonly actionId?: string | undefined;
  /** Of the lease that the action is run under: nothing is begun once that is another one's, or the action has ended. */
  readonly actionToken?: number | undefined;
}

/**
 * `PUT states/provision`: checks everything that can be checked now, then commits state and flow together and nudges.
 * @throws AppError `invalid_argument` (400) for a verb that is not possible now, steps that can't be or an invalid node,
 * `conflict` (409) when the plan is not the one that was read, `node_locked` (409) while a conductor works on the node,
 * `unavailable` (503) when none is alive that could, `lease_lost` when the site action that wants it has ended or is another
 * conductor's.
 */
export async function requestProvision(
  context: ConductorContext,
  node: NodeRow,
  { rescuePassword, ...request }: ProvisionRequest,
): Promise<void> {
  const { secrets } = context;
  const { event } = provisionVerbs[request.verb];
  const work = verbWork[event];
  const stopped = `stopped by the operator's '${request.verb}'`;
  // such a flow leaves the node in a state in which there is nothing to abort
  if (event === 'abort' && (await abortTeardown(context, node.uuid, stopped))) return;
  refuseForeignWipe(request);
  // what is at work may end where the verb is possible: clients try again on 409 and give up on 400
  if (!isPossible(node, request.verb)) await refuseReserved(context.db, node.uuid);
  refuseImpossible(node, request.verb);
  refuseForbidden(node, request);
  await lookForConductor(context, node);
  refuseUnattended(context, node);
  await refuseInvalid(context, node, wipeOf(node, request) ? verbWork.clean.needs : work.needs);
  const given = work.kind === 'deploy' ? givenConfigDrive(secrets, node, request) : undefined;
  checkFetched('configdrive', given, context.config.outbound.images);
  const configDrive =
    given === undefined ? undefined : await buildConfigDrive({ configDrive: given, node, run: context.run });
  // thousands of rounds, through which nobody should wait for the node's row, or for the embedded database
  const rescueHash = rescuePassword === undefined ? undefined : encrypt(rescuePassword);
  await changeUnlocked(context, node.uuid, async (tx, current) => {
    if (request.isUnowned) refuseOwned(current);
    refuseImpossible(current, request.verb);
    refuseForbidden(current, request);
    refuseSealed(request.steps ?? []);
    await refuseUnreadPlan({ ...context, db: tx }, current, { ...request, event });
    // one given earlier stays until the instance is released: a repeated deploy is of the same instance
    if (configDrive !== undefined)
      await saveConfigDrive(tx, node.uuid, sealConfigDrive(secrets, node.uuid, configDrive));
    const instanceInfo = changedInstanceInfo(current, request, rescueHash);
    const change = instanceInfo ? sealNode(secrets, node.uuid, { instanceInfo }, current) : {};
    if (instanceInfo) await updateNode(tx, node.uuid, change);
    await startWork(context, tx, { ...current, ...change }, { ...request, event });
  });
  context.nudge(node.uuid);
}

/** What the request puts into the node's instance, or takes from it; `undefined` = nothing. */
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

function isPossible(node: NodeRow, verb: ProvisionVerb): boolean {
  return legalVerbs(node.provisionState).includes(verb);
}

function refuseImpossible(node: NodeRow, verb: ProvisionVerb): void {
  if (isPossible(node, verb)) return;
  const legal = legalVerbs(node.provisionState);
  throw new AppError(
    'invalid_argument',
    `The requested action '${verb}' can not be performed on node '${node.uuid}' while it is in state ` +
      `'${node.provisionState}'. Possible now: ${legal.join(', ') || 'nothing, until the work under way ends'}.`,
  );
}

const possibleInMaintenance: ReadonlySet<VerbEvent> = new Set<VerbEvent>(['delete', 'abort', 'manage', 'unhold']);

/** @throws AppError for what the node's maintenance, protection or retirement forbids, in Ironic's words. */
function refuseForbidden(node: NodeRow, request: Pick<ProvisionRequest, 'verb' | 'wipe'>): void {
  const { verb } = request;
  const { event } = provisionVerbs[verb];
  refuseOwing(node, verb);
  if (event === 'delete' || event === 'rebuild') refuseProtected(node);
  // a wipe leaves a retired node manageable
  if (event === 'provide' && node.retired && !wipeOf(node, request)) {
    throw new AppError(
      'invalid_argument',
      `The ${verb} operation can't be performed on node ${node.uuid} because it is retired.`,
    );
  }
  if (node.maintenance && !possibleInMaintenance.has(event)) {
    throw new AppError('invalid_argument', `Node ${node.uuid} is in maintenance: '${verb}' is not possible.`);
  }
}

/**
 * The request's config drive, or the one that a client (nova, metalsmith) has patched into the node.
 * @throws AppError `invalid_argument` for one that is neither text nor a dict.
 */
function givenConfigDrive(secrets: Secrets, node: NodeRow, request: ProvisionRequest): ProvisionRequest['configDrive'] {
  if (request.configDrive !== undefined) return request.configDrive;
  const patched = openNodeDocument(secrets, node, 'instanceInfo')['configdrive'];
  if (patched === undefined || patched === null || typeof patched === 'string') return patched ?? undefined;
  if (typeof patched === 'object' && !Array.isArray(patched)) return patched as Record<string, unknown>;
  throw new AppError('invalid_argument', 'instance_info.configdrive: it must be text or an object with meta_data …');
}

/** @throws AppError `invalid_argument` for an argument that looks as if Baton had sealed it. */
function refuseSealed(steps: readonly RequestedStep[]): void {
  for (const step of steps) refuseSealedTexts(step.args, `${step.interface}.${step.step}`);
}

async function startWork(
  context: ConductorContext,
  tx: Transaction,
  node: NodeRow,
  work: ProvisionRequest & { readonly event: VerbEvent },
): Promise<void> {
  const options = {
    conductor: context.config.conductorName,
    user: work.caller.user,
    project: work.caller.project,
    via: work.caller.via,
  };
  const { actionId, actionToken: token } = work;
  if (actionId !== undefined && token !== undefined) await requireAction(tx, { actionId, token });
  const flow = await findOpenFlow(tx, node.uuid);
  if (work.event === 'unhold') return goOn(context, tx, { node, flow, options });
  if (flow) {
    const isKnown = Object.hasOwn(flowKinds, flow.kind);
    if (isKnown && isBesideStates(flowKinds[flow.kind])) refuseUnderWay(node, flow, work.verb);
    const error = `stopped by the operator's '${work.verb}'`;
    if (work.event === 'abort') return abort(context, tx, { node, flow, error, options });
    await stopFlow(context, tx, flow, { error, thenEnd: true });
  }
  const wipe = wipeOf(node, work);
  const kind = kindToStart(node, work.event, wipe);
  const plan = kind ? await planRequested({ ...context, db: tx }, node, kind, { ...work, wipe }) : undefined;
  const moved = await applyEvent(tx, node, work.event, {
    ...options,
    target: kind ? flowKinds[kind].target : null,
    ...(kind ? { lastError: null } : {}),
  });
  if (kind === 'clean' && !(node.automatedClean ?? context.config.automatedClean)) {
    await applyEvent(tx, moved, 'done', { ...options, target: null });
    return;
  }
  if (!kind || !plan) return;
  if (wipe && !fakesFlow('wipe', node)) await updateNode(tx, node.uuid, { owedWipe: wipe });
  if (kind === 'inspect') await updateNode(tx, node.uuid, { inspectionStartedAt: context.clock.now() });
  await insertFlow(tx, {
    nodeUuid: node.uuid,
    kind,
    requestedBy: work.caller.user,
    actionId: work.actionId,
    requestedSteps: await sealSteps({ ...context, db: tx }, node.uuid, work.steps ?? []),
    // with what this request itself has changed: its sender knows of that
    planHash: work.planHash === undefined ? undefined : plan.hash,
    wipe: kind === 'wipe' || kind === 'teardown' ? wipe : undefined,
    steps: plan.steps,
  });
}

function planRequested(
  context: ConductorContext,
  node: NodeRow,
  kind: FlowKindName,
  work: ProvisionRequest,
): Promise<Plan> {
  return readPlan(context, node, {
    kind,
    requested: work.steps ?? [],
    disableRamdisk: work.disableRamdisk,
    wipe: work.wipe,
  });
}

/** @throws AppError `conflict` when the node as it is now has another plan than the operator's, or none that is whole. */
async function refuseUnreadPlan(
  context: ConductorContext,
  node: NodeRow,
  work: ProvisionRequest & { readonly event: VerbEvent },
): Promise<void> {
  const wipe = wipeOf(node, work);
  const kind = kindToStart(node, work.event, wipe);
  if (work.planHash === undefined || !kind) return;
  const plan = await planRequested(context, node, kind, { ...work, wipe });
  if (!plan.isComplete) {
    throw new AppError(
      'conflict',
      "plan_hash: this node's ramdisk has not been asked for its steps yet, so that no plan of it is complete. " +
        'Inspect or clean the node first, or go on without plan_hash.',
    );
  }
  refuseOtherPlan(plan, work.planHash);
}

function kindToStart(node: NodeRow, event: VerbEvent, wipe?: WipeWish): FlowKindName | undefined {
  // the instance comes back whose service had failed
  if (event === 'abort') return node.provisionState === 'service failed' ? 'restore' : undefined;
  // manageable again needs no proof: the BMC was proven when the node left enroll
  if (nextProvisionState(node.provisionState, event) === 'manageable') return undefined;
  return event === 'provide' && wipe ? 'wipe' : verbWork[event].kind;
}

interface FlowOfNode {
  readonly node: NodeRow;
  readonly flow: FlowRow;
  readonly options: {
    readonly conductor: string;
    readonly user: string | undefined;
    readonly project: string | undefined;
    readonly via: string | undefined;
  };
}

/** The flow's own end moves the node, once it is off and isolated; a step that must not be interrupted ends first. */
async function abort(
  context: ConductorContext,
  tx: Transaction,
  { node, flow, error, options }: FlowOfNode & { readonly error: string },
): Promise<void> {
  // what makes the node safe is at work now, and nobody waits
  if (flow.onHold !== null) await applyEvent(tx, node, 'unhold', options);
  const steps = await listSteps(tx, flow.uuid);
  const current = steps.find((step) => step.state === 'running' || step.state === 'waiting');
  if (current && !current.abortable && flow.onHold === null) {
    await updateFlow(tx, flow.uuid, { abortRequested: error });
  } else await stopFlow(context, tx, flow, { error, thenEnd: false });
}

async function goOn(
  context: ConductorContext,
  tx: Transaction,
  { node, flow, options }: Omit<FlowOfNode, 'flow'> & { readonly flow: FlowRow | undefined },
): Promise<void> {
  await applyEvent(tx, node, 'unhold', options);
  if (!flow) return;
  const steps = await listSteps(tx, flow.uuid);
  for (const step of steps.filter((each) => each.state === 'waiting')) {
    await recordStepEvent(tx, step, 'succeeded', { conductor: options.conductor, now: context.clock.now() });
  }
  await updateFlow(tx, flow.uuid, { onHold: null, state: 'running', checkInMs: 0 });
}
