import type { ApiClient, Json } from '#conductor/cli/api-client.ts';
import { describeFlowChanges } from '#conductor/cli/describe-flow-changes.ts';
import { renderFlow } from '#conductor/cli/render-flow.ts';
import type { FlowView } from '#conductor/flows/flow-view.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface Screen {
  readonly write: (text: string) => void;
  /** Lines can be painted over; else each change is printed once. */
  readonly isTerminal: boolean;
}

const pollMs = 500;

/**
 * Shows the node's flow until it rests, a flow that follows in the same breath too (tear-down, then cleaning).
 * @returns the node as it rests.
 * @throws AppError `not_found`.
 */
export async function watchFlow(
  client: ApiClient,
  ident: string,
  options: { readonly screen: Screen; readonly clock: Clock },
): Promise<Json> {
  const { screen, clock } = options;
  let before: FlowView | undefined;
  let painted = 0;
  for (;;) {
    const node = await client.call('GET', `/v1/nodes/${ident}`);
    if (!node) throw new AppError('not_found', `there is no node ${ident}`);
    const flow = (await client.call('GET', `/v1/nodes/${ident}/flow`)) as FlowView | undefined;
    if (flow) {
      if (flow.uuid !== before?.uuid) painted = 0;
      const now = clock.now();
      const lines = screen.isTerminal ? renderFlow(flow, now) : describeFlowChanges(before, flow, now);
      // a plan that has become shorter must leave no old lines below
      const erase = screen.isTerminal ? `${painted > 0 ? `\u001b[${painted}A` : ''}\u001b[J` : '';
      screen.write(`${erase}${lines.map((line) => `${line}\n`).join('')}`);
      painted = lines.length;
      before = flow;
    }
    const flowRests = !flow || flow.ended_at !== null;
    if (flowRests && !node['target_provision_state']) return node;
    await clock.sleep(pollMs);
  }
}
