import { writeFile } from 'node:fs/promises';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  pathOperand,
  textOption,
  usageError,
} from '#conductor/cli/command.ts';
import { formatBytes } from '#conductor/cli/format-units.ts';
import { print } from '#conductor/cli/print.ts';

async function logs(context: CommandContext, input: CommandInput): Promise<void> {
  const flow = textOption(input, 'flow');
  const query = flow === undefined ? '' : `?flow=${encodeURIComponent(flow)}`;
  const { content, fileName } = await context.client.download(`/v1/nodes/${pathOperand(input)}/flow/logs${query}`);
  const asked =
    input.document !== undefined || textOption(input, 'output') === 'text' ? undefined : textOption(input, 'output');
  const toPipe = asked === '-' || (asked === undefined && input.document === undefined && !context.screen.isTerminal);
  if (toPipe) {
    context.screen.write(content);
    return;
  }
  const file = asked ?? fileName;
  await writeFile(file, content).catch((cause: unknown) => {
    throw usageError(`-o: write ${file}`, { cause });
  });
  print(context, input, {
    json: { file, bytes: content.length },
    text: `${file}: ${formatBytes(content.length)}; tar -xzf unpacks it\n`,
  });
}

export const logCommands: readonly Command[] = [
  {
    words: 'logs',
    operands: ['NODE'],
    options: {
      output: { value: 'FILE', short: 'o', meaning: 'where to write it; - = standard output; json as everywhere' },
      flow: { value: 'UUID', meaning: 'of this flow; default: the newest' },
    },
    meaning: "the agent's logs of a flow that failed, a gzipped tar",
    details: 'Without -o: a file here, named by node and time; into a pipe, the tar itself.',
    run: logs,
  },
];
