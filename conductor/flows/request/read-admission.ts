import { buildConfigDrive } from '#conductor/boot/config-drive.ts';
import type { FlowsContext } from '#conductor/flows/context.ts';
import { findOpenFlow } from '#conductor/flows/log/flow-store.ts';
import { instanceNetworkData } from '#conductor/flows/network/node-network.ts';
import { isRefusal } from '#conductor/flows/plan/is-refusal.ts';
import { kindStartedOn } from '#conductor/flows/plan/kind-on-node.ts';
import {
  type AdmissionFacts,
  type FlowFacts,
  isPossible,
  noFlow,
  refuseByNode,
} from '#conductor/flows/request/admit.ts';
import { requireFirmwareComponents } from '#conductor/flows/request/firmware-requested.ts';
import type { ProvisionRequest } from '#conductor/flows/request/provision-request.ts';
import { requireUnmoved } from '#conductor/flows/request/require-no-flow.ts';
import { requireValid } from '#conductor/flows/request/validate-node.ts';
import { requireAction } from '#conductor/flows/site-actions/action-lease.ts';
import { lookForConductor, requireLiveConductor } from '#conductor/kernel/conductors/node-conductor.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { FlowRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import { isWordOnRestored, provisionVerbs } from '#conductor/model/provision-states.ts';
import { checkFetched, checkStepUrls } from '#conductor/nodes/boot/image-info.ts';
import { leaseHolder } from '#conductor/nodes/node-lease.ts';
import { wipeOf } from '#conductor/nodes/requested-wipe.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** A request's facts, with the config drive that was made on the way. */
export interface ReadRequest {
  readonly facts: AdmissionFacts;
  /** `undefined`: the request brings none. */
  readonly configDrive: string | undefined;
}

/**
 * Reads once all that decides on a request, for `admit`. The machine is not touched; its BMC is asked at most for its
 * firmware's components. Where the node's own row refuses already, nothing more is read.
 */
export async function readAdmission(
  context: FlowsContext,
  node: NodeRow,
  request: ProvisionRequest,
): Promise<ReadRequest> {
  const holder = isPossible(node, request.verb) ? undefined : await leaseHolder(context.db, node.uuid);
  const facts = { holder, cleansByItself: context.config.automatedClean, flow: noFlow };
  if (refuseByNode(node, request, holder)) return { facts: { ...facts, found: 'not read' }, configDrive: undefined };
  const { found, configDrive } = await lookInto(context, node, request);
  return { facts: { ...facts, found }, configDrive };
}

/** Names of what is looked into; `judge-request.test.ts` has a request that each refuses. */
export type Finding = 'conductor' | 'interfaces' | 'configDrive' | 'stepUrls' | 'firmware';

async function lookInto(
  context: FlowsContext,
  node: NodeRow,
  request: ProvisionRequest,
): Promise<{ readonly found: AppError | 'none'; readonly configDrive: string | undefined }> {
  const { images } = context.config.outbound;
  const kind = kindStartedOn(node, provisionVerbs[request.verb].event);
  const steps = request.steps ?? [];
  const drive: { made?: string } = {};
  // in this order; a BMC is asked last, and not in vain
  const looks: Record<Finding, () => unknown> = {
    conductor: async () => {
      await lookForConductor(context, node);
      requireLiveConductor(context, node);
    },
    interfaces: () => requireValid(context, node, neededInterfaces(node, request)),
    configDrive: async () => {
      const given = kind === 'deploy' ? givenConfigDrive(context.secrets, node, request) : undefined;
      checkFetched('configdrive', given, images);
      if (given !== undefined) drive.made = await makeConfigDrive(context, node, given);
    },
    stepUrls: () => checkStepUrls(steps, images),
    firmware: () => requireFirmwareComponents(context, node, steps, kind),
  };
  for (const look of Object.values(looks)) {
    const found = await refusalOf(look);
    if (found) return { found, configDrive: undefined };
  }
  return { found: 'none', configDrive: drive.made };
}

/**
 * Reads what the node's flow says to a request.
 * @param tx has locked the node's row, of which `node` was read
 */
export async function readFlowFacts(
  tx: Transaction,
  node: NodeRow,
  request: ProvisionRequest,
  open: FlowRow | undefined,
): Promise<FlowFacts> {
  const { actionId, actionToken: token } = request;
  const isTeardown = request.isTeardown === true || request.wipe !== undefined;
  return {
    open,
    action:
      actionId === undefined || token === undefined
        ? undefined
        : await refusalOf(() => requireAction(tx, { actionId, token, isTeardown })),
    seen: await refusalOf(() => requireUnmoved(tx, node, request.seen)),
  };
}

/** Reads the same for a request that no site action is behind. */
export async function readOpenFlow({ db }: Pick<FlowsContext, 'db'>, node: NodeRow): Promise<FlowFacts> {
  return { ...noFlow, open: await findOpenFlow(db, node.uuid) };
}

function neededInterfaces(node: NodeRow, request: ProvisionRequest): Parameters<typeof requireValid>[2] {
  const { event } = provisionVerbs[request.verb];
  const kind = wipeOf(node, request) ? 'wipe' : isWordOnRestored(node, event) ? undefined : kindStartedOn(node, event);
  const needs = kind ? (flowKinds[kind].needs ?? []) : [];
  return request.disableRamdisk ? needs.filter((each) => each !== 'boot' && each !== 'network') : needs;
}

async function refusalOf(attempt: () => unknown): Promise<AppError | undefined> {
  try {
    await attempt();
    return undefined;
  } catch (error) {
    if (isRefusal(error)) return error;
    throw error;
  }
}

/**
 * Returns the request's config drive, or the one that a client (nova, metalsmith) has patched into the node.
 * @throws AppError `invalid_argument` for one that is neither text nor a dict.
 */
function givenConfigDrive(secrets: Secrets, node: NodeRow, request: ProvisionRequest): ProvisionRequest['configDrive'] {
  if (request.configDrive !== undefined) return request.configDrive;
  const patched = openNodeDocument(secrets, node, 'instanceInfo')['configdrive'];
  if (patched === undefined || patched === null || typeof patched === 'string') return patched ?? undefined;
  if (typeof patched === 'object' && !Array.isArray(patched)) return patched as Record<string, unknown>;
  throw new AppError('invalid_argument', 'instance_info.configdrive: it must be text or an object with meta_data …');
}

/** Makes the drive; a dict without `network_data` gets what the instance needs to know of its links. */
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
