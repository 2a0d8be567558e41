import { requiredBoot } from '#conductor/boot/required-boot.ts';
import { findOpenFlow, listSteps } from '#conductor/flows/flow-store.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';

/** Whose machine it is now: the conductor's, which boots the ramdisk, or the instance's. */
export async function readRequiredBoot(
  db: Queryable,
  node: Pick<NodeRow, 'uuid' | 'provisionState'>,
): Promise<'ramdisk' | 'local disk'> {
  const flow = await findOpenFlow(db, node.uuid);
  const steps = flow ? await listSteps(db, flow.uuid) : [];
  const current = steps.find((step) => step.state === 'running' || step.state === 'waiting');
  return requiredBoot({
    provisionState: node.provisionState,
    currentStep: current && `${current.interface}.${current.step}`,
  });
}
