import { checkPlannedSettings } from '#conductor/bios/check-planned-settings.ts';
import type { ConductorContext } from '#conductor/context.ts';
import type { NodeRow } from '#conductor/db/schema/node.ts';
import { flowKinds } from '#conductor/flows/flow-kinds.ts';
import { planHash } from '#conductor/flows/plan-hash.ts';
import { planSteps } from '#conductor/flows/plan-steps.ts';
import type { PlanFacts, PlannedStep } from '#conductor/flows/planned-step.ts';
import { type PlanRequest, readPlanFacts } from '#conductor/flows/read-plan-facts.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { AdvertisedStep } from '#shared/wire/step.ts';

export interface Plan {
  readonly steps: readonly PlannedStep[];
  /** Of the steps and of what they are about: another image or another root device is another plan. */
  readonly hash: string;
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
  context: Pick<ConductorContext, 'db' | 'drivers'>,
  node: NodeRow,
  request: PlanRequest,
  fresh?: readonly AdvertisedStep[],
): Promise<Plan> {
  const kind = flowKinds[request.kind];
  const facts = await readPlanFacts(context, node, request, fresh);
  const steps = planSteps(kind, facts);
  await checkPlannedSettings(context.db, node.uuid, steps);
  const isComplete = !kind.inBand || facts.withoutAgent !== undefined || facts.advertised !== undefined;
  return { steps, hash: planHash(steps, subjectOf(node, request)), facts, isComplete };
}

const imageKeys = ['image_source', 'image_checksum', 'image_os_hash_algo', 'image_os_hash_value', 'image_disk_format'];

function subjectOf(node: NodeRow, request: PlanRequest): unknown {
  if (request.kind !== 'deploy') return { node: node.uuid, kind: request.kind };
  return {
    node: node.uuid,
    kind: request.kind,
    image: imageKeys.map((key) => node.instanceInfo[key] ?? null),
    root_device: node.instanceInfo['root_device'] ?? node.properties['root_device'] ?? null,
  };
}

/** @throws AppError `conflict` when the operator has read another plan than this one. */
export function refuseOtherPlan(plan: Plan, wanted: string | null | undefined): void {
  if (wanted === undefined || wanted === null || wanted === plan.hash) return;
  throw new AppError(
    'conflict',
    `plan_hash: the plan is no longer the one that was read: it is ${plan.hash} now. Read it again before you go on.`,
  );
}
