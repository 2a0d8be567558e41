import type { ApiClient, Json } from '#conductor/cli/api-client.ts';
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
  let painted: readonly string[] = [];
  let shown = '';
  for (;;) {
    const node = await client.call('GET', `/v1/nodes/${ident}`);
    if (!node) throw new AppError('not_found', `there is no node ${ident}`);
    const flow = (await client.call('GET', `/v1/nodes/${ident}/flow`)) as FlowView | undefined;
    if (flow) {
      if (flow.uuid !== shown) painted = [];
      shown = flow.uuid;
      const lines = renderFlow(flow, clock.now());
      paint(screen, painted, lines);
      painted = lines;
    }
    const flowRests = !flow || flow.ended_at !== null;
    if (flowRests && !node['target_provision_state']) return node;
    await clock.sleep(pollMs);
  }
}

function paint(screen: Screen, before: readonly string[], lines: readonly string[]): void {
  if (screen.isTerminal) {
    const up = before.length > 0 ? `\u001b[${before.length}A` : '';
    // a plan that has become shorter must leave no old lines below
    screen.write(`${up}\u001b[J${lines.map((line) => `${line}\n`).join('')}`);
    return;
  }
  // without a terminal: what has changed but for the ticking clock
  const still = (line: string): string => line.replaceAll(/\d+\.\d s|\d+ [mh] \d\d [sm]/g, '');
  const known = new Set(before.map(still));
  for (const line of lines) {
    if (!known.has(still(line))) screen.write(`${line}\n`);
  }
}
