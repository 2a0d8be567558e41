import { agentSettings } from '#conductor/agents/agent-client.ts';
import { findAgentSteps } from '#conductor/agents/ask-agent.ts';
import { checkPlannedSettings } from '#conductor/flows/bmc/bios-requested-settings.ts';
import { sealSteps } from '#conductor/flows/bmc/bios-store.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { fakesFlow, whyFaked } from '#conductor/flows/log/fakes-flow.ts';
import { isLeftRunning } from '#conductor/flows/log/left-running.ts';
import { type PlanDestroys, planDestroys } from '#conductor/flows/plan/plan-destroys.ts';
import { planSteps } from '#conductor/flows/plan/plan-steps.ts';
import { checkSettingsOf } from '#conductor/flows/plan/step-args.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { openConfigDrive, openNodeDocument, openStepArgs } from '#conductor/kernel/secrets/node-secrets.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import type { FlowKindName, WipeRequest } from '#conductor/model/flows/flow-states.ts';
import {
  type OfferedDriverStep,
  type PlanFacts,
  type PlannedStep,
  type RequestedStep,
  stepKey,
} from '#conductor/model/flows/planned-step.ts';
import { propertiesIn, trustedOsDisk } from '#conductor/nodes/boot/os-disk.ts';
import { runsFromRamdisk } from '#conductor/nodes/boot/ramdisk-instance.ts';
import { deployBootOf, whyKexecIsUnknown } from '#conductor/nodes/deploy-boot.ts';
import { latestInventory } from '#conductor/nodes/inspection/inventory-store.ts';
import { implementationOf, isSwitchedOff, writesNoImage } from '#conductor/nodes/node-interfaces.ts';
import { readConfigDrive } from '#conductor/nodes/node-store.ts';
import { listVifs } from '#conductor/nodes/ports/port-store.ts';
import { findBootVolume } from '#conductor/nodes/resources/volume.ts';
import { listTraits } from '#conductor/nodes/traits.ts';
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
  /** Reference to the image in a registry, with the digest of what is to be written. */
  readonly pinnedImage?: string | undefined;
}

/**
 * Reads all that a plan for this node is made from, as of now.
 * @param fresh the list of the agent that runs there; without it the list of its last boot, if there was one, which a
 * new ramdisk may have outgrown
 * @throws AppError `invalid_argument` naming a wrong trait or driver_info property.
 */
async function readPlanFacts(
  context: PlanContext,
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
    instanceRuns: request.kind === 'restore' && (await isLeftRunning(context.db, node)),
    isFake: fakesFlow(request.kind, node),
    isRamdisk: request.kind === 'deploy' && runsFromRamdisk(node),
    kexec: request.kind === 'deploy' ? await readKexec(context, node) : undefined,
  };
}

function readDriverSteps(
  { drivers, steps }: Pick<EngineContext, 'drivers' | 'steps'>,
  node: NodeRow,
  kind: NonNullable<(typeof flowKinds)[FlowKindName]['inBand']>['kind'],
): OfferedDriverStep[] {
  const offered = steps
    .offered(drivers.connect(node), kind)
    .filter(
      ({ interface: kindOf, interfaceName }) =>
        !isSwitchedOff(node, kindOf) &&
        (interfaceName === undefined || interfaceName === implementationOf(node, kindOf)),
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
 * Reads the templates that the instance's traits name. Instance traits must be traits of the node (agent-protocol.md §5.3).
 */
export async function readTemplates(
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
  const templates = (await listTemplatesNamed(db, wanted)).map((template) => openTemplate(secrets, template));
  return templates.toSorted((a, b) => wanted.indexOf(a.name) - wanted.indexOf(b.name));
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

/** Names the image in the step that writes it: then the plan's hash covers it, and no other is written. */
function pinImage(steps: readonly PlannedStep[], pinned: string | undefined): PlannedStep[] {
  return steps.map((step) =>
    pinned !== undefined && stepKey(step) === 'deploy.write_image' ? { ...step, args: { image: pinned } } : step,
  );
}

export interface Plan {
  /** Their secrets sealed. */
  readonly steps: readonly PlannedStep[];
  /**
   * Computes the hash of the steps, of what they are about and of the disks that they cost: another image or disk is
   * another plan. Reads what few ask for. @param withoutDisks what it is as long as the disks are not known
   */
  readonly hash: (withoutDisks?: 'without disks') => Promise<string>;
  readonly destroys: PlanDestroys;
  /** When the disks were looked at, if ever. */
  readonly inventoriedAt: Date | undefined;
  readonly facts: PlanFacts;
  /** The agent's steps are known, maybe from an earlier boot, or not needed. */
  readonly isComplete: boolean;
}

/** Means that planning may use. */
export type PlanContext = Pick<EngineContext, 'db' | 'drivers' | 'config' | 'secrets' | 'steps'>;

/**
 * Reads the plan for this node as of now; touches nothing.
 * @param fresh the list of the agent that runs there
 * @throws AppError `invalid_argument` naming the step and what would be right.
 */
export async function readPlan(
  context: PlanContext,
  node: NodeRow,
  request: PlanRequest,
  fresh?: readonly AdvertisedStep[],
): Promise<Plan> {
  const kind = flowKinds[request.kind];
  const facts = await readPlanFacts(context, node, request, fresh);
  const steps = pinImage(planSteps(kind, facts), request.pinnedImage);
  await checkPlannedSettings(context.db, node.uuid, steps);
  const settings = {
    properties: openNodeDocument(context.secrets, node, 'properties'),
    driver_info: agentSettings(node.driverInfo),
  };
  for (const step of steps)
    if (step.inBand && ['request', 'template'].includes(step.origin)) checkSettingsOf(step, settings);
  const inventory = steps.some((step) => step.inBand) ? await latestInventory(context.db, node.uuid) : undefined;
  const properties = propertiesIn(request.kind, node);
  const osDisk = await trustedOsDisk(context.db, node);
  const destroys = planDestroys(steps, {
    disks: inventory?.disks,
    undrivenStorage: inventory?.undrivenStorage,
    node: { ...node, properties, osDisk },
  });
  const isComplete = !kind.inBand || facts.withoutAgent !== undefined || facts.advertised !== undefined;
  const { digest } = context.secrets;
  return {
    steps: await sealSteps(context, node.uuid, steps),
    hash: async (withoutDisks) =>
      planHash(steps, await readSubject(context, node, request), {
        digest,
        destroyedSerials: withoutDisks ? [] : serialsOf(destroys),
      }),
    destroys,
    inventoriedAt: inventory?.collectedAt,
    facts,
    isComplete,
  };
}

/** Returns the serial numbers of disks, whose names change from boot to boot. */
function serialsOf({ disks }: PlanDestroys): string[] {
  return disks.flatMap(({ disk }) => disk.serial ?? []).sort();
}

/**
 * Reads all that decides what the steps do beside their arguments: the whole instance, for more of it may count some day.
 */
async function readSubject(
  { db, secrets }: Pick<EngineContext, 'db' | 'secrets'>,
  node: NodeRow,
  request: PlanRequest,
): Promise<unknown> {
  const subject = {
    node: node.uuid,
    kind: request.kind,
    target_raid_config: node.targetRaidConfig,
    skip_block_devices: node.properties['skip_block_devices'] ?? null,
    ...(node.sparedDisks === null ? {} : { spared_disks: node.sparedDisks }),
  };
  if (request.kind !== 'deploy') return subject;
  const { hashed_rescue_password: _, ...instance } = openNodeDocument(secrets, node, 'instanceInfo');
  const vifs = await listVifs(db, node.uuid);
  return {
    ...subject,
    instance,
    ...(vifs.length === 0 ? {} : { vifs }),
    root_device: node.properties['root_device'] ?? null,
    config_drive: openConfigDrive(secrets, node.uuid, await readConfigDrive(db, node.uuid)) ?? null,
  };
}

/**
 * @param disksAreNew the machine has just listed its disks: a plan that was read before anybody knew them is still the one
 * @throws AppError `conflict` when the operator has read another plan than this one.
 */
export async function requireSamePlan(
  plan: Plan,
  wanted: string | null | undefined,
  { disksAreNew = false }: { readonly disksAreNew?: boolean } = {},
): Promise<void> {
  if (wanted === undefined || wanted === null) return;
  const hash = await plan.hash();
  if (wanted === hash || (disksAreNew && wanted === (await plan.hash('without disks')))) return;
  throw new AppError(
    'conflict',
    `plan_hash: the plan is no longer the one that was read: it is ${hash} now. Read it again before you go on.`,
    { situation: 'plan_changed' },
  );
}

/**
 * Computes the plan's hash, by `digest` in 64 hex digits: the steps with their arguments, in order, what runs them, and what
 * they are about, the disks that lose their contents where these are known. Why a step stands where it does is not part of
 * it. Secrets count in clear: sealed again, they make the same plan.
 */
export function planHash(
  steps: readonly PlannedStep[],
  subject: unknown,
  {
    digest,
    destroyedSerials = [],
  }: { readonly digest: (text: string) => string; readonly destroyedSerials?: readonly string[] },
): string {
  const rows = steps.map(({ interface: stepInterface, step, priority, args, inBand, rebootRequested, plugin }) => [
    stepInterface,
    step,
    priority,
    sorted(args),
    inBand,
    rebootRequested,
    ...(plugin ? [sorted(plugin)] : []),
  ]);
  return digest(JSON.stringify([sorted(subject), rows, ...(destroyedSerials.length > 0 ? [destroyedSerials] : [])]));
}

/** The order of keys means nothing. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}
