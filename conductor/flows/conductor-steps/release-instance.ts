import { ejectWhatever } from '#conductor/flows/conductor-steps/boot-medium.ts';
import type { ConductorStep, WriteFacts } from '#conductor/flows/step-context.ts';
import { together } from '#conductor/kernel/db/together.ts';
import { forgetAllocation } from '#conductor/nodes/node-allocation.ts';
import { deleteConfigDrive } from '#conductor/nodes/node-store.ts';
import { deleteVifs } from '#conductor/nodes/ports/vif-store.ts';

export const releaseInstance: ConductorStep = {
  interface: 'deploy',
  step: 'release_instance',
  description: 'Forgets the instance: its image, config drive, UUID, allocation and networks.',
  run: async (context) => {
    const { node, config, flow } = context;
    await ejectWhatever(context);
    const record: WriteFacts = async (tx) => {
      await together([deleteConfigDrive(tx, node.uuid), deleteVifs(tx, node.uuid)]);
      if (node.allocationUuid !== null) {
        const caller = { user: flow.requestedBy ?? undefined };
        await forgetAllocation(tx, node, { conductor: config.conductorName, caller });
      }
      return {
        instanceInfo: {},
        instanceUuid: null,
        allocationUuid: null,
        instanceName: null,
        // what a wipe has preserved was for an instance that has come up, or is for one that is still to come
        sparedDisks: node.instanceCameUp ? null : node.sparedDisks,
        instanceCameUp: false,
      };
    };
    return { kind: 'done', record };
  },
};
