import { checkPlannedSettings } from '#conductor/flows/bios/check-planned-settings.ts';
import type { EngineContext } from '#conductor/flows/context.ts';
import { type PlanDestroys, planDestroys } from '#conductor/flows/plan-destroys.ts';
import { planHash } from '#conductor/flows/plan-hash.ts';
import { planSteps } from '#conductor/flows/plan-steps.ts';
import { type PlanRequest, readPlanFacts } from '#conductor/flows/read-plan-facts.ts';
import { sealSteps } from '#conductor/flows/seal-steps.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { openConfigDrive, openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import { flowKinds } from '#conductor/model/flow-kinds.ts';
import type { PlanFacts, PlannedStep } from '#conductor/model/planned-step.ts';
import { latestInventory } from '#conductor/nodes/inspection/inventory-store.ts';
import { readConfigDrive } from '#conductor/nodes/node-store.ts';
import { trustedOsDisk } from '#conductor/nodes/os-disk-record.ts';
import { listVifs } from '#conductor/nodes/ports/vif-store.ts';
import { propertiesIn } from '#conductor/nodes/spared-disks.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { AdvertisedStep } from '#shared/wire/step.ts';

export interface Plan {
  /** Their secrets sealed. */
  readonly steps: readonly PlannedStep[];
  /**
   * Of the steps, of what they are about and of the disks that they cost: another image or disk is another plan. Reads
   * what few ask for. @param withoutDisks what it is as long as the disks are not known
   */
  readonly hash: (withoutDisks?: 'without disks') => Promise<string>;
  readonly destroys: PlanDestroys;
  /** When the disks were looked at, if ever. */
  readonly inventoriedAt: Date | undefined;
  readonly facts: PlanFacts;
  /** The agent's steps are known, be it from an earlier boot, or not needed. */
  readonly isComplete: boolean;
}

/**
 * The plan for this node as of now; touches nothing.
 * @param fresh the list of the agent that runs there
 * @throws AppError `invalid_argument` naming the step and what would be right.
 */
export async function readPlan(
  context: Pick<EngineContext, 'db' | 'drivers' | 'config' | 'secrets'>,
  node: NodeRow,
  request: PlanRequest,
  fresh?: readonly AdvertisedStep[],
): Promise<Plan> {
  const kind = flowKinds[request.kind];
  const facts = await readPlanFacts(context, node, request, fresh);
  const steps = planSteps(kind, facts);
  await checkPlannedSettings(context.db, node.uuid, steps);
  const inventory = steps.some((step) => step.inBand) ? await latestInventory(context.db, node.uuid) : undefined;
  const properties = propertiesIn(request.kind, node);
  const osDisk = await trustedOsDisk(context.db, node);
  const destroys = planDestroys(steps, { disks: inventory?.disks, node: { ...node, properties, osDisk } });
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

/** Names of disks change from boot to boot. */
function serialsOf({ disks }: PlanDestroys): string[] {
  return disks.flatMap(({ disk }) => disk.serial ?? []).sort();
}

/** All that decides what the steps do beside their arguments: the whole instance, for more of it may count some day. */
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
 * @param disksAreNew the machine has just told its disks: a plan that was read before anybody knew them is still the one
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
  );
}
