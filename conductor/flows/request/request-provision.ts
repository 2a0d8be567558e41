import { encrypt } from 'unixcrypt';
import { buildConfigDrive } from '#conductor/boot/config-drive.ts';
import type { FlowsContext } from '#conductor/flows/context.ts';
import { findOpenFlow } from '#conductor/flows/log/flow-store.ts';
import { instanceNetworkData } from '#conductor/flows/network/node-network.ts';
import { requireSamePlan } from '#conductor/flows/plan/read-plan.ts';
import { requireFirmwareComponents } from '#conductor/flows/request/firmware-requested.ts';
import { abortTeardown } from '#conductor/flows/request/push-flow.ts';
import type { SeenNode } from '#conductor/flows/request/require-no-flow.ts';
import { kindToStart, onlyReads, planRequested, startWork } from '#conductor/flows/request/start-work.ts';
import { requireValid } from '#conductor/flows/request/validate-node.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import { lookForConductor, requireLiveConductor } from '#conductor/kernel/conductors/node-conductor.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { FlowRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { openNodeDocument, sealConfigDrive, sealNode } from '#conductor/kernel/secrets/node-secrets.ts';
import { requireUnsealedTexts } from '#conductor/kernel/secrets/sealed-document.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { flowKinds, kindStartedBy } from '#conductor/model/flow-kinds.ts';
import type { WipeRequest } from '#conductor/model/flow-states.ts';
import type { RequestedStep } from '#conductor/model/planned-step.ts';
import {
  isWordOnRestored,
  legalVerbs,
  type ProvisionVerb,
  provisionVerbs,
  type VerbEvent,
} from '#conductor/model/provision-states.ts';
import { checkFetched, checkStepUrls } from '#conductor/nodes/boot/image-info.ts';
import { impossible } from '#conductor/nodes/change/apply-event.ts';
import { requireKnownMachine } from '#conductor/nodes/change/restored-node.ts';
import { requireUnowned, requireUnprotected } from '#conductor/nodes/node-guards.ts';
import { changeUnlocked, requireUnreserved } from '#conductor/nodes/node-lock.ts';
import { saveConfigDrive, updateNode } from '#conductor/nodes/node-store.ts';
import { requireNoOwedWipe, requireWipingVerb, wipeOf } from '#conductor/nodes/requested-wipe.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface ProvisionRequest {
  readonly verb: ProvisionVerb;
  /** base64(gzip(iso)), a URL, or Ironic's dict `{meta_data, network_data, user_data, vendor_data}`. */
  readonly configDrive?: string | Record<string, unknown> | undefined;
  /** Steps that are asked for; of a deploy by priority; of manual cleaning and service the whole list, in order. */
  readonly steps?: readonly RequestedStep[] | undefined;
  readonly disableRamdisk?: boolean | undefined;
  /** The plan that the operator has read. */
  readonly planHash?: string | undefined;
  /** In plain text; kept as a hash. */
  readonly rescuePassword?: string | undefined;
  /** With `deleted` and `provide`: the disks are wiped in place of automated cleaning, whatever the settings of that. */
  readonly wipe?: WipeRequest | undefined;
  readonly caller: Pick<Caller, 'user' | 'project' | 'via'>;
  /** Only while the node has neither owner nor lessee. */
  readonly isUnowned?: boolean;
  /** The site action that wants it; its flows leave the ramdisk running for each other. */
  readonly actionId?: string | undefined;
  /**
   * Token of the lease that the action is run under: nothing is begun once that is another one's, or the action has
   * ended.
   */
  readonly actionToken?: number | undefined;
  /** An act of a teardown: it is not begun once a pause or a stop of the action was accepted. Whatever wipes is one. */
  readonly isTeardown?: boolean;
  /** State that the request was decided from: nothing is begun on a node that has moved on since. */
  readonly seen?: SeenNode | undefined;
}

/**
 * `PUT states/provision`: checks everything that can be checked now, then commits state and flow together and nudges.
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
  const kind = kindStartedBy(event);
  const stopped = `stopped by the operator's '${request.verb}'`;
  requireKnownMachine(node, request.verb);
  // such a flow leaves the node in a state in which there is nothing to abort
  if (event === 'abort' && (await abortTeardown(context, node.uuid, stopped))) return;
  requireWipingVerb(request);
  // what is at work may end where the verb is possible: clients try again on 409 and give up on 400
  if (!isPossible(node, request.verb)) await requireUnreserved(context.db, node.uuid);
  requirePossible(node, request.verb);
  requirePermitted(node, request);
  await lookForConductor(context, node);
  requireLiveConductor(context, node);
  const checked = wipeOf(node, request) ? 'wipe' : isWordOnRestored(node, event) ? undefined : kind;
  const needs = checked ? (flowKinds[checked].needs ?? []) : [];
  await requireValid(
    context,
    node,
    request.disableRamdisk ? needs.filter((each) => each !== 'boot' && each !== 'network') : needs,
  );
  const given = kind === 'deploy' ? givenConfigDrive(secrets, node, request) : undefined;
  await requireFirmwareComponents(context, node, request.steps ?? [], kind);
  checkStepUrls(request.steps ?? [], context.config.outbound.images);
  checkFetched('configdrive', given, context.config.outbound.images);
  const configDrive = given === undefined ? undefined : await makeConfigDrive(context, node, given);
  // thousands of rounds, through which nobody should wait for the node's row
  const rescueHash = rescuePassword === undefined ? undefined : encrypt(rescuePassword);
  const startOn = async (tx: Transaction, current: NodeRow, flow: FlowRow | undefined) => {
    if (request.isUnowned) requireUnowned(current);
    requireKnownMachine(current, request.verb);
    requirePossible(current, request.verb);
    requirePermitted(current, request);
    requireUnsealed(request.steps ?? []);
    await requireReadPlan({ ...context, db: tx }, current, { ...request, event });
    // one given earlier stays until the instance is released: a repeated deploy is of the same instance
    if (configDrive !== undefined)
      await saveConfigDrive(tx, node.uuid, sealConfigDrive(secrets, node.uuid, configDrive));
    const instanceInfo = changedInstanceInfo(current, request, rescueHash);
    const change = instanceInfo ? sealNode(secrets, node.uuid, { instanceInfo }, current) : {};
    if (instanceInfo) await updateNode(tx, node.uuid, change);
    return startWork(context, tx, { ...current, ...change }, { ...request, event, flow });
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

function isPossible(node: NodeRow, verb: ProvisionVerb): boolean {
  return legalVerbs(node.provisionState, node.fault).includes(verb);
}

function requirePossible(node: NodeRow, verb: ProvisionVerb): void {
  if (!isPossible(node, verb)) throw impossible(node, verb);
}

const possibleInMaintenance: ReadonlySet<VerbEvent> = new Set<VerbEvent>(['delete', 'abort', 'manage', 'unhold']);

/** @throws AppError for what the node's maintenance, protection or retirement forbids, in Ironic's words. */
function requirePermitted(node: NodeRow, request: Pick<ProvisionRequest, 'verb' | 'wipe'>): void {
  const { verb } = request;
  const { event } = provisionVerbs[verb];
  requireNoOwedWipe(node, verb);
  if (event === 'delete' || event === 'rebuild') requireUnprotected(node);
  // a wipe leaves a retired node manageable
  if (event === 'provide' && node.retired && !wipeOf(node, request)) {
    throw new AppError(
      'invalid_argument',
      `The ${verb} operation can't be performed on node ${node.uuid} because it is retired.`,
    );
  }
  if (node.maintenance && !possibleInMaintenance.has(event) && !isWordOnRestored(node, event)) {
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

/** A dict without `network_data` gets what the instance needs to know of its links. */
async function makeConfigDrive(
  context: FlowsContext,
  node: NodeRow,
  given: NonNullable<ProvisionRequest['configDrive']>,
): Promise<string> {
  const isWhole = typeof given === 'string' || (given['network_data'] ?? undefined) !== undefined;
  const networkData = isWhole ? undefined : await instanceNetworkData(context, node);
  return buildConfigDrive({
    configDrive: given,
    node: { ...node, networkData: networkData ?? null },
    run: context.run,
  });
}

/** @throws AppError `invalid_argument` for an argument that looks as if Baton had sealed it. */
function requireUnsealed(steps: readonly RequestedStep[]): void {
  for (const step of steps) requireUnsealedTexts(step.args, `${step.interface}.${step.step}`);
}

/** @throws AppError `conflict` when the node as it is now has another plan than the operator's, or none that is whole. */
async function requireReadPlan(
  context: FlowsContext,
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
  await requireSamePlan(plan, work.planHash);
}
