import type { CommandContext, CommandInput } from '#conductor/cli/command.ts';
import { print } from '#conductor/cli/print.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

interface Outcome {
  readonly json: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/**
 * Does the same to each operand, one after another, and goes on where one fails. Prints a line each, or a list.
 * @throws AppError the one error, or `command_failed` with all of them
 */
export async function forEachOperand(
  context: CommandContext,
  input: CommandInput,
  act: (name: string, ident: string) => Promise<Outcome>,
): Promise<void> {
  const failures: { readonly name: string; readonly error: unknown }[] = [];
  const documents: unknown[] = [];
  for (const name of input.operands) {
    const outcome = await act(name, encodeURIComponent(name)).catch((error: unknown) => {
      failures.push({ name, error });
      return { json: { name, error: errorChain(error) }, text: '' };
    });
    documents.push(outcome.json);
    // each at once: the next may take long
    if (input.document === undefined) context.screen.write(outcome.text);
  }
  if (input.document !== undefined) print(context, input, { json: documents, text: '' });
  const [first] = failures;
  if (!first) return;
  if (input.operands.length === 1) throw first.error;
  const lines = failures.map(({ name, error }) => `  ${name}: ${errorChain(error)}`);
  throw new AppError('command_failed', `${failures.length} of ${input.operands.length} failed:\n${lines.join('\n')}`);
}
