import { fakesFlow } from '#conductor/flows/fakes-flow.ts';
import type { ConductorStep } from '#conductor/flows/step-context.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { coveringWipe } from '#conductor/nodes/requested-wipe.ts';

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
