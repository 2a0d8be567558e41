import type { FlowView } from '#conductor/api/flows.ts';
import type { ApiClient, Json } from '#conductor/cli/api-client.ts';
import { printable } from '#conductor/cli/fit-screen.ts';
import { getNode } from '#conductor/cli/get-node.ts';
import { lookPatiently, pollMs } from '#conductor/cli/look-patiently.ts';
import { createPainter, type Screen } from '#conductor/cli/paint-lines.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface WatchOptions {
  readonly screen: Screen;
  readonly clock: Clock;
  /** Nothing is shown while it goes on. */
  readonly quiet?: boolean | undefined;
  /** Give up, not the flow but the watching. Default: never. */
  readonly timeoutMs?: number | undefined;
}

/** Where a node has come to rest, and the flow that brought it there. */
export interface WatchedNode {
  readonly node: Json;
  readonly flow: FlowView | undefined;
}

/**
 * Shows the node's flow until it rests, a flow that follows in the same breath too (tear-down, then cleaning).
 * @throws AppError `not_found`, `timeout`, `unavailable` when the conductor has been away for a minute.
 */
export async function watchFlow(client: ApiClient, ident: string, options: WatchOptions): Promise<WatchedNode> {
  const { clock } = options;
  const show = options.quiet ? () => undefined : await (options.screen.isTerminal ? livePainter : printer)(options);
  const began = clock.now().getTime();
  for (;;) {
    const watched = await lookPatiently(() => look(client, ident), clock);
    if (watched.flow) show(watched.flow);
    const flowRests = !watched.flow || watched.flow.ended_at !== null;
    if (flowRests && !watched.node['target_provision_state']) return watched;
    if (options.timeoutMs !== undefined && clock.now().getTime() - began > options.timeoutMs) {
      throw new AppError('timeout', `wait for node ${decodeURIComponent(ident)}: it has not come to rest; it goes on`);
    }
    await clock.sleep(pollMs);
  }
}

async function look(client: ApiClient, ident: string): Promise<WatchedNode> {
  const node = await getNode(client, ident);
  return { node, flow: (await client.call('GET', `/v1/nodes/${ident}/flow`)) as FlowView | undefined };
}

/** Each change once, as for a log. */
async function printer({ screen, clock }: WatchOptions): Promise<(flow: FlowView) => void> {
  const { describeFlowChanges } = await import('#conductor/cli/describe-flow-changes.ts');
  let before: FlowView | undefined;
  return (flow) => {
    const lines = describeFlowChanges(before, flow, clock.now());
    if (lines.length > 0) screen.write(lines.map((line) => `${printable(line)}\n`).join(''));
    before = flow;
  };
}

/** All lines again at each look, over the ones before. */
async function livePainter({ screen, clock }: WatchOptions): Promise<(flow: FlowView) => void> {
  const { renderFlow } = await import('#conductor/cli/render-flow.ts');
  const paint = createPainter(screen);
  return (flow) => paint(flow.uuid, renderFlow(flow, clock.now()));
}
