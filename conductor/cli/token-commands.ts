import { type FileHandle, open, rm } from 'node:fs/promises';
import type { Json } from '#conductor/cli/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  requiredOption,
  textOption,
  usageError,
} from '#conductor/cli/command.ts';
import { cell, print, table } from '#conductor/cli/print.ts';
import { deleteCommand, type Resource } from '#conductor/cli/resource-commands.ts';

const tokens: Resource = {
  words: 'token',
  operand: 'TOKEN',
  path: '/v1/tokens',
  key: 'tokens',
  columns: ['name', 'role', 'project', 'created_by', 'expires_at', 'last_used_at'],
};

async function list(context: CommandContext, input: CommandInput): Promise<void> {
  const rows = ((await context.client.call('GET', tokens.path))?.[tokens.key] ?? []) as Json[];
  const text = table([[...tokens.columns], ...rows.map((row) => tokens.columns.map((name) => cell(row[name])))]);
  print(context, input, { json: rows, text });
}

const dayMs = 24 * 3600 * 1000;

/** A number of days, or a time as it is. */
function expiry(text: string | undefined, now: Date): string | undefined {
  if (text === undefined || !/^\d+$/.test(text)) return text;
  return new Date(now.getTime() + Number(text) * dayMs).toISOString();
}

async function create(context: CommandContext, input: CommandInput): Promise<void> {
  const role = requiredOption(input, 'role');
  const body = {
    name: input.operands[0],
    role,
    project: textOption(input, 'project'),
    expires_at: expiry(textOption(input, 'expires'), context.clock.now()),
  };
  const file = textOption(input, 'file');
  const handle = file === undefined ? undefined : await openNew(file);
  try {
    const { token, ...made } = (await context.client.call('POST', tokens.path, body)) ?? {};
    await handle?.writeFile(`${cell(token)}\n`);
    if (handle) print(context, input, { json: { ...made, file }, text: `token ${cell(made['name'])} is in ${file}\n` });
    else print(context, input, { json: { ...made, token }, text: `${cell(token)}\n` });
  } catch (error) {
    if (file !== undefined) await rm(file, { force: true });
    throw error;
  } finally {
    await handle?.close();
  }
}

/** Before the token is made: it is shown once. A file that is there already may be readable to others. */
function openNew(file: string): Promise<FileHandle> {
  return open(file, 'wx', 0o600).catch((cause: unknown) => {
    throw usageError(`--file: make ${file}`, { cause });
  });
}

export const tokenCommands: readonly Command[] = [
  { words: 'token list', meaning: 'API tokens: whose, which role, last used', run: list },
  {
    words: 'token create',
    operands: ['NAME'],
    options: {
      role: { value: 'ROLE', required: 'admin, member or reader', meaning: 'admin, member or reader' },
      project: { value: 'PROJECT', meaning: 'sees and touches only what this owner or lessee has' },
      expires: { value: 'DAYS|TIME', meaning: 'after so many days, or at 2027-01-31T12:00:00Z; default: never' },
      file: { value: 'FILE', meaning: 'a new file for it, for BATON_TOKEN_FILE; default: standard output' },
    },
    meaning: 'make a token for the API; it is shown this once',
    run: create,
  },
  deleteCommand(tokens, 'have tokens not count any more'),
];
