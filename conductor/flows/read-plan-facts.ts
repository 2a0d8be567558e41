import { findAgentSteps } from '#conductor/agents/ask-agent.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { offeredSteps } from '#conductor/flows/driver-steps/index.ts';
import { fakesFlow, whyFaked } from '#conductor/flows/fakes-flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { openStepArgs } from '#conductor/kernel/secrets/node-secrets.ts';
import { flowKinds } from '#conductor/model/flow-kinds.ts';
import type { FlowKindName, WipeRequest } from '#conductor/model/flow-states.ts';
import type { OfferedDriverStep, PlanFacts, RequestedStep } from '#conductor/model/planned-step.ts';
import { deployBootOf, whyKexecIsUnknown } from '#conductor/nodes/deploy-boot.ts';
import { implementationOf, isSwitchedOff, writesNoImage } from '#conductor/nodes/node-interfaces.ts';
import { runsFromRamdisk } from '#conductor/nodes/ramdisk-instance.ts';
import { listTraits } from '#conductor/nodes/traits/trait-store.ts';
import { findBootVolume } from '#conductor/nodes/volumes/volume-store.ts';
import { listTemplatesNamed, openTemplate } from '#conductor/templates/deploy-template.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { AdvertisedStep } from '#shared/wire/step.ts';

export interface PlanRequest {
  readonly kind: FlowKindName;
  readonly requested: readonly RequestedStep[];
  /** The operator wants only what needs no agent. */
  readonly disableRamdisk?: boolean | undefined;
  /** With the kind `wipe`. */
  readonly wipe?: WipeRequest | undefined;
}

/**
 * All that a plan for this node is made from, as of now.
 * @param fresh the list of the agent that runs there; without it the list of its last boot, if there was one, which a
 * new ramdisk may have outgrown
 * @throws AppError `invalid_argument` naming a wrong trait or driver_info property.
 */
export async function readPlanFacts(
  context: Pick<EngineContext, 'db' | 'drivers' | 'config' | 'secrets'>,
  node: NodeRow,
  request: PlanRequest,
  fresh?: readonly AdvertisedStep[],
): Promise<PlanFacts> {
  const { inBand } = flowKinds[request.kind];
  const templates = request.kind === 'deploy' ? await readTemplates(context, node) : [];
  const withoutAgent = await reasonForNoAgent(context, node, request);
  // where no agent runs, its steps decide only what may be asked for
  const isAsked = withoutAgent === undefined || request.requested.length + templates.length > 0;
  const cached = inBand && !fresh && isAsked ? await findAgentSteps(context.db, node.uuid, inBand.kind) : undefined;
  return {
    advertised: fresh ?? cached?.steps,
    isStale: fresh === undefined,
    drivers: inBand ? readDriverSteps(context, node, inBand.kind) : [],
    ...(request.kind === 'clean' ? { priorities: context.config.cleanStepPriorities } : {}),
    templates,
    // a flow's own are sealed
    requested: request.requested.map((step) => ({
      ...step,
      args: openStepArgs(context.secrets, node.uuid, step.args),
    })),
    wipe: request.wipe,
    withoutAgent,
    ...(request.kind === 'deploy' && writesNoImage(node)
      ? { withoutImage: 'its deploy interface is custom-agent' }
      : {}),
    isFake: fakesFlow(request.kind, node),
    isRamdisk: request.kind === 'deploy' && runsFromRamdisk(node),
    kexec: request.kind === 'deploy' ? await readKexec(context, node) : undefined,
  };
}

function readDriverSteps(
  { drivers }: Pick<EngineContext, 'drivers'>,
  node: NodeRow,
  kind: NonNullable<(typeof flowKinds)[FlowKindName]['inBand']>['kind'],
): OfferedDriverStep[] {
  const offered = offeredSteps(drivers.connect(node), kind).filter(
    ({ interface: kindOf, interfaceName }) =>
      !isSwitchedOff(node, kindOf) && (interfaceName === undefined || interfaceName === implementationOf(node, kindOf)),
  );
  return offered.map((step) => ({
    interface: step.interface,
    step: step.step,
    priority: step.priorities[kind] ?? 0,
    abortable: step.abortable,
    args: step.args,
  }));
}

/**
 * The templates that the instance's traits name. Instance traits must be traits of the node (agent-protocol.md §5.3).
 */
async function readTemplates(
  { db, secrets }: Pick<EngineContext, 'db' | 'secrets'>,
  node: NodeRow,
): Promise<NonNullable<PlanFacts['templates']>> {
  const wanted = instanceTraits(node);
  if (wanted.length === 0) return [];
  const own = (await listTraits(db, [node.uuid])).get(node.uuid) ?? [];
  const foreign = wanted.filter((trait) => !own.includes(trait));
  if (foreign.length > 0) {
    throw new AppError('invalid_argument', `instance_info.traits: the node does not have ${foreign.join(', ')}`);
  }
  return (await listTemplatesNamed(db, wanted)).map((template) => openTemplate(secrets, template));
}

function instanceTraits(node: NodeRow): string[] {
  const traits = node.instanceInfo['traits'] ?? [];
  if (Array.isArray(traits) && traits.every((trait) => typeof trait === 'string')) return traits;
  throw new AppError('invalid_argument', 'instance_info.traits: it must be a list of traits');
}

async function readKexec(
  { db, drivers }: Pick<EngineContext, 'db' | 'drivers'>,
  node: NodeRow,
): Promise<PlanFacts['kexec']> {
  const asked = deployBootOf(node);
  if (asked === 'reboot') return undefined;
  if (!drivers.connect(node).power.pressPowerButton) {
    return { asked, refused: `driver ${node.driver} can't press the power button` };
  }
  return { asked, refused: asked === 'auto' ? await whyKexecIsUnknown(db, node.uuid) : undefined };
}

async function reasonForNoAgent(
  { db }: Pick<EngineContext, 'db'>,
  node: NodeRow,
  request: PlanRequest,
): Promise<string | undefined> {
  if (request.disableRamdisk) return 'disable_ramdisk was given';
  const faked = whyFaked(request.kind, node);
  if (faked !== undefined) return faked;
  if (request.kind !== 'deploy') return undefined;
  if (runsFromRamdisk(node)) return 'its deploy interface is ramdisk';
  const volume = await findBootVolume(db, node.uuid);
  return volume && `the node boots from volume ${volume.volumeId}`;
}
