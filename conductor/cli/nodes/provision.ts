import type { FlowView } from '#conductor/api/flows.ts';
import type { NodeAnswer } from '#conductor/api/resources.ts';
import { type ApiClient, callFor, getNode, type Json, lookPatiently, pollMs } from '#conductor/cli/shell/api-client.ts';
import {
  type CommandContext,
  type CommandInput,
  type CommandOption,
  flagOption,
  textOption,
} from '#conductor/cli/shell/command.ts';
import { cell, print } from '#conductor/cli/shell/print.ts';
import { createPainter, printable, type Screen } from '#conductor/cli/shell/screen.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface WatchOptions {
  readonly screen: Screen;
  readonly clock: Clock;
  /** Nothing is shown while it goes on. */
  readonly quiet?: boolean | undefined;
  /** Give up, not the flow but the watching. Default: never. */
  readonly timeoutMs?: number | undefined;
  /** A flow that had ended before: it is not shown. */
  readonly endedFlow?: string | undefined;
}

/** Where a node has come to rest, and the flow that brought it there. */
interface WatchedNode {
  readonly node: NodeAnswer;
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
    if (watched.flow && watched.flow.uuid !== options.endedFlow) show(watched.flow);
    const flowRests = !watched.flow || watched.flow.ended_at !== null;
    if (flowRests && !watched.node.target_provision_state) return watched;
    if (options.timeoutMs !== undefined && clock.now().getTime() - began > options.timeoutMs) {
      throw new AppError('timeout', `wait for node ${decodeURIComponent(ident)}: it has not come to rest; it goes on`);
    }
    await clock.sleep(pollMs);
  }
}

async function look(client: ApiClient, ident: string): Promise<WatchedNode> {
  const node = await getNode(client, ident);
  return { node, flow: await flowOf(client, ident) };
}

const flowOf = (client: ApiClient, ident: string): Promise<FlowView | undefined> =>
  callFor<FlowView>(client, 'GET', `/v1/nodes/${ident}/flow`);

/** Each change once, as for a log. */
async function printer({ screen, clock }: WatchOptions): Promise<(flow: FlowView) => void> {
  const { describeFlowChanges } = await import('#conductor/cli/nodes/render-flow.ts');
  let before: FlowView | undefined;
  return (flow) => {
    const lines = describeFlowChanges(before, flow, clock.now());
    if (lines.length > 0) screen.write(lines.map((line) => `${printable(line)}\n`).join(''));
    before = flow;
  };
}

/** All lines again at each look, over the ones before. */
async function livePainter({ screen, clock }: WatchOptions): Promise<(flow: FlowView) => void> {
  const { renderFlow } = await import('#conductor/cli/nodes/render-flow.ts');
  const paint = createPainter(screen);
  return (flow) => paint(flow.uuid, renderFlow(flow, clock.now()));
}

/** Options of every command that sets a node off. */
export const waitOptions = {
  wait: { meaning: 'show the steps as they run, until the node rests' },
  timeout: { value: 'SECONDS', goesWith: 'wait', meaning: 'with --wait: stop waiting then; the node goes on' },
} as const satisfies Record<string, CommandOption>;

/**
 * Asks for a provision state, and waits when the operator has said so.
 * @param ident as it stands in a path
 * @throws AppError `command_failed` when the node rests in a failed state, unless an abort was what was asked for.
 */
export async function provision(
  context: CommandContext,
  input: CommandInput,
  ident: string,
  body: Json & { readonly target: string },
): Promise<void> {
  const timeoutMs = readTimeout(input);
  // some verbs start none: the failure of the last one would look like theirs
  const last = flagOption(input, 'wait') ? await flowOf(context.client, ident) : undefined;
  await context.client.call('PUT', `/v1/nodes/${ident}/states/provision`, body);
  if (flagOption(input, 'wait')) {
    const watched = await watchFlow(context.client, ident, {
      ...context,
      quiet: input.document !== undefined,
      timeoutMs,
      endedFlow: last?.ended_at == null ? undefined : last.uuid,
    });
    report(context, input, watched, body.target === 'abort');
    return;
  }
  const name = decodeURIComponent(ident);
  print(context, input, {
    json: { node: name, target: body.target },
    text: `node ${name}: ${body.target} requested; baton watch ${name} shows it\n`,
  });
}

/** @throws AppError `command_failed` when the node rests where nobody wants it. */
export function report(
  context: CommandContext,
  input: CommandInput,
  { node, flow }: WatchedNode,
  failedIsRight = false,
): void {
  const state = cell(node.provision_state);
  const name = cell(node.name ?? node.uuid);
  const isFailedState = state.endsWith('failed') || state === 'error';
  // a BMC that was not verified leaves its node in `enroll`; advice is for who rests where a failure has left it
  const isElsewhere = !isFailedState && flow?.state === 'failed' && flow.advice !== null;
  const hasFailed = (isFailedState && !failedIsRight) || isElsewhere;
  if (input.document !== undefined || !hasFailed)
    print(context, input, { json: { node, flow: flow ?? null }, text: `node ${name} is ${state}\n` });
  if (hasFailed) {
    const advice = flow?.ended_at != null && flow.advice !== null ? `\n→ ${flow.advice}` : '';
    throw new AppError('command_failed', `node ${name} is in '${state}': ${cell(node.last_error)}${advice}`);
  }
}

export function readTimeout(input: CommandInput): number | undefined {
  const text = textOption(input, 'timeout');
  if (text === undefined) return undefined;
  const seconds = Number(text);
  if (Number.isFinite(seconds) && seconds > 0) return seconds * 1000;
  throw usageError('--timeout: it must be a number of seconds above 0');
}
