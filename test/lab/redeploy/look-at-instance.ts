import { AppError } from '#shared/errors/app-error.ts';
import type { Lab, LabNode } from '#test/lab/lab.ts';
import { getNode } from '#test/lab/operator.ts';
import { type BeaconAnswer, waitForBeacon } from '#test/lab/proofs/beacon.ts';
import { askStorage, type StorageAnswer } from '#test/lab/redeploy/ask-storage.ts';

/** The instance that runs on the machine, as it tells itself. */
export interface SeenInstance {
  readonly uuid: string;
  readonly beacon: BeaconAnswer;
  readonly storage: StorageAnswer;
}

const bootLimitMs = 15 * 60_000;

/**
 * Waits until the system that was deployed tells of itself.
 * @param notBoot the id of a boot whose answers don't count any more
 * @throws AppError `agent_error` when the node is not `active`, `timeout`
 */
export async function lookAtInstance(lab: Lab, node: LabNode, notBoot?: string): Promise<SeenInstance> {
  const view = await getNode(lab, node);
  if (view.provision_state !== 'active' || view.instance_uuid === null) {
    throw new AppError('agent_error', `${node.name} is ${view.provision_state}: ${view.last_error}`);
  }
  const beacon = await waitForBeacon(lab, node, bootLimitMs, notBoot);
  return { uuid: view.instance_uuid, beacon, storage: await askStorage(lab, node, bootLimitMs) };
}
