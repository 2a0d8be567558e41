import { deleteAllocationOfNode } from '#conductor/allocations/allocation-store.ts';
import type { ConductorStep } from '#conductor/flows/step-context.ts';
import { deleteConfigDrive, updateNode } from '#conductor/nodes/node-store.ts';
import { deleteVifs } from '#conductor/nodes/vif-store.ts';

export const releaseInstance: ConductorStep = {
  interface: 'deploy',
  step: 'release_instance',
  description: 'Forgets the instance: its image, config drive, UUID, allocation and networks.',
  run: async (context) => {
    await context.record(async (tx) => {
      await deleteConfigDrive(tx, context.node.uuid);
      await deleteVifs(tx, context.node.uuid);
      await updateNode(tx, context.node.uuid, {
        instanceInfo: {},
        instanceUuid: null,
        allocationUuid: null,
        instanceName: null,
      });
      await deleteAllocationOfNode(tx, context.node.uuid);
    });
    return { kind: 'done' };
  },
};
