import type { CommandContext, CommandInput } from '#conductor/cli/command.ts';
import { printable } from '#conductor/cli/fit-screen.ts';
import { print } from '#conductor/cli/print.ts';
import { readTimeout } from '#conductor/cli/provision.ts';
import { concludeAction, renderActionReport } from '#conductor/cli/render-action-report.ts';
import { listActionNodes, watchAction } from '#conductor/cli/watch-action.ts';
import { AppError } from '#shared/errors/app-error.ts';

export const actionWaitOptions = {
  wait: { meaning: 'show the groups as they are deployed until the action has ended, then the report' },
  timeout: { value: 'SECONDS', goesWith: 'wait', meaning: 'with --wait: stop waiting then; the action goes on' },
} as const;

/**
 * Shows an action until its end, then the report.
 * @throws AppError `command_failed` unless it is complete: then a critical group failed
 */
export async function followAction(context: CommandContext, input: CommandInput, id: string): Promise<void> {
  const quiet = input.document !== undefined;
  const action = await watchAction(context.client, id, { ...context, quiet, timeoutMs: readTimeout(input) });
  const nodes = await listActionNodes(context.client, id);
  const report = renderActionReport(action, nodes, context.clock.now());
  // what sets the report off from the tree above it
  const text = ['', ...report].map((line) => `${printable(line)}\n`).join('');
  print(context, input, { json: { action, nodes }, text });
  if (action.action_lifecycle === 'Complete') return;
  // the report has said why
  const why = quiet ? `: ${concludeAction(action)}` : '';
  throw new AppError('command_failed', `${action.name} is ${action.action_lifecycle}${why}`);
}
