import { ejectWhatever } from '#conductor/flows/conductor-steps/boot-medium.ts';
import { fakesFlow } from '#conductor/flows/log/fakes-flow.ts';
import type { ConductorStep, WriteFacts } from '#conductor/flows/step-context.ts';
import { allTogether } from '#conductor/kernel/db/query/batches.ts';
import { requestIdsOf } from '#conductor/model/request-ids.ts';
import { forgetAllocation } from '#conductor/nodes/change/node-allocation.ts';
import { deleteConfigDrive, updateNode } from '#conductor/nodes/node-store.ts';
import { dissolveUnusedGroups } from '#conductor/nodes/ports/place-by-rules.ts';
import { deleteVifs } from '#conductor/nodes/ports/port-store.ts';
import { coveringWipe } from '#conductor/nodes/requested-wipe.ts';

export const releaseInstance: ConductorStep = {
  interface: 'deploy',
  step: 'release_instance',
  description: 'Forgets the instance: its image, config drive, UUID, allocation and networks.',
  run: async (context) => {
    const { node, config, flow } = context;
    await ejectWhatever(context);
    const record: WriteFacts = async (tx) => {
      await allTogether([deleteConfigDrive(tx, node.uuid), deleteVifs(tx, node.uuid)]);
      await dissolveUnusedGroups(tx, node.uuid, []);
      if (node.allocationUuid !== null) {
        const caller = { user: flow.requestedBy ?? undefined, ...requestIdsOf(flow) };
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

/**
 * Written with the request already. As a step it keeps conductors off that know no wipe, in a rolling upgrade: they would
 * clean the node in its place, or not even that.
 */
export const oweWipe: ConductorStep = {
  interface: 'deploy',
  step: 'owe_wipe',
  description: 'Records that the node does not become available until a receipt proves its wipe.',
  run: async ({ node, flow, record }) => {
    if (fakesFlow('wipe', node)) return { kind: 'done' };
    await record((tx) => updateNode(tx, node.uuid, { owedWipe: coveringWipe(node.owedWipe, flow.wipe) }));
    return { kind: 'done' };
  },
};
