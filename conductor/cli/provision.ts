import type { Json } from '#conductor/cli/api-client.ts';
import {
  type CommandContext,
  type CommandInput,
  type CommandOption,
  flagOption,
  textOption,
  usageError,
} from '#conductor/cli/command.ts';
import { cell, print } from '#conductor/cli/print.ts';
import { type WatchedNode, watchFlow } from '#conductor/cli/watch-flow.ts';
import { AppError } from '#shared/errors/app-error.ts';

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
  await context.client.call('PUT', `/v1/nodes/${ident}/states/provision`, body);
  if (flagOption(input, 'wait')) {
    const watched = await watchFlow(context.client, ident, {
      ...context,
      quiet: input.document !== undefined,
      timeoutMs,
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
  const state = cell(node['provision_state']);
  const name = cell(node['name'] ?? node['uuid']);
  const isFailedState = state.endsWith('failed') || state === 'error';
  // a BMC that was not verified leaves its node in `enroll`; advice is for who rests where a failure has left it
  const isElsewhere = !isFailedState && flow?.state === 'failed' && flow.advice !== null;
  const hasFailed = (isFailedState && !failedIsRight) || isElsewhere;
  if (input.document !== undefined || !hasFailed)
    print(context, input, { json: { node, flow: flow ?? null }, text: `node ${name} is ${state}\n` });
  if (hasFailed) {
    const advice = flow?.ended_at != null && flow.advice !== null ? `\n→ ${flow.advice}` : '';
    throw new AppError('command_failed', `node ${name} is in '${state}': ${cell(node['last_error'])}${advice}`);
  }
}

export function readTimeout(input: CommandInput): number | undefined {
  const text = textOption(input, 'timeout');
  if (text === undefined) return undefined;
  const seconds = Number(text);
  if (Number.isFinite(seconds) && seconds > 0) return seconds * 1000;
  throw usageError('--timeout: it must be a number of seconds above 0');
}
