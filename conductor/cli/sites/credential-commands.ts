import { readList } from '#conductor/cli/shell/api-client.ts';
import { readAssignments, toObject } from '#conductor/cli/shell/assignments.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  flagOption,
  pathOperand,
} from '#conductor/cli/shell/command.ts';
import { forEachOperand } from '#conductor/cli/shell/on-nodes.ts';
import { columnsOf, print } from '#conductor/cli/shell/print.ts';

const path = '/api/v1.0/credentials';

async function list(context: CommandContext, input: CommandInput): Promise<void> {
  const rows = await readList(context.client, path, 'credentials');
  print(context, input, { json: rows, text: columnsOf(rows, ['name', 'username', 'updated_by', 'updated_at']) });
}

async function set(context: CommandContext, input: CommandInput): Promise<void> {
  const body = toObject(await readAssignments(input.operands.slice(1), context));
  const stored = await context.client.call('PUT', `${path}/${pathOperand(input)}`, body);
  print(context, input, { json: stored, text: `credential ${input.operands[0]} is stored\n` });
}

export const credentialCommands: readonly Command[] = [
  {
    words: 'credential set',
    operands: ['NAME', 'FIELD=VALUE...'],
    meaning: 'store user and password of BMCs or switches under a name that documents and the networks file refer to',
    details:
      'username=admin password=@FILE (@- = standard input): a password among the arguments can be read by others.',
    run: set,
  },
  { words: 'credential list', meaning: 'credentials, without their passwords', run: list },
  {
    words: 'credential delete',
    operands: ['NAME...'],
    options: { force: { meaning: 'even if documents use them' } },
    meaning: 'delete credentials',
    run: (context, input) =>
      forEachOperand(context, input, async (name, ident) => {
        await context.client.call('DELETE', `${path}/${ident}${flagOption(input, 'force') ? '?force=true' : ''}`);
        return { json: { deleted: name }, text: `credential ${name} deleted\n` };
      }),
  },
];
