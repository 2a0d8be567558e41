import type { FlowView } from '#conductor/api/flows.ts';
import { describeFlowChanges } from '#conductor/cli/nodes/render-flow.ts';
import { systemClock } from '#shared/clock.ts';
import type { Lab, LabNode } from '#test/lab/lab.ts';
import { getFlow } from '#test/lab/operator.ts';

const everyMs = 500;

/** Tells what the steps of the node's flows do while `work` goes on, a line each. */
export async function showSteps<T>(
  lab: Lab,
  node: LabNode,
  { work, show }: { readonly work: () => Promise<T>; readonly show: (line: string) => void },
): Promise<T> {
  const over = new AbortController();
  const showing = follow(lab, node, { show, signal: AbortSignal.any([over.signal, lab.closing]) });
  try {
    return await work();
  } finally {
    over.abort();
    await showing;
  }
}

async function follow(
  lab: Lab,
  node: LabNode,
  { show, signal }: { readonly show: (line: string) => void; readonly signal: AbortSignal },
): Promise<void> {
  // the last flow is shown by its follower
  const state: { flow: FlowView | undefined } = { flow: await getFlow(lab, node) };
  while (!signal.aborted) {
    await systemClock.sleep(everyMs, signal).catch(() => undefined);
    const flow = await getFlow(lab, node).catch(() => undefined); // the action fails for that, if it lasts
    if (!flow) continue;
    const before = state.flow?.uuid === flow.uuid ? state.flow : undefined;
    for (const line of describeFlowChanges(before, flow, new Date())) show(`${node.name}: ${line}`);
    state.flow = flow;
  }
}
