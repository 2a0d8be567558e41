import { type Json, listAll } from '#conductor/cli/shell/api-client.ts';
import { assignmentHelp, readAssignments, toPatch } from '#conductor/cli/shell/assignments.ts';
import {
  type Command,
  type CommandInput,
  type CommandOption,
  pathOperand,
  textOption,
} from '#conductor/cli/shell/command.ts';
import { forEachOperand } from '#conductor/cli/shell/on-nodes.ts';
import { columnsOf, fieldTable, print } from '#conductor/cli/shell/print.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** A collection of the API. */
export interface Resource {
  /** `port group`: the words of its commands, and what it is called. */
  readonly words: string;
  /** In usage: `PORT`. */
  readonly operand: string;
  readonly path: string;
  /** In a list's answer. */
  readonly key: string;
  readonly columns: readonly string[];
  /** Option → the API's filter. */
  readonly filters?: Readonly<Record<string, CommandOption & { readonly query: string }>>;
  /** Which of its fields are shown can be chosen. */
  readonly choosesFields?: boolean;
}

const fieldsOption = { fields: { value: 'FIELD,…', meaning: 'show these fields' } } as const;

/** @returns `undefined` = not chosen */
function chosenFields(input: CommandInput): readonly string[] | undefined {
  return textOption(input, 'fields')
    ?.split(',')
    .map((name) => name.trim());
}

/** `undefined` values and links are nobody's to read. */
function shown(object: Json): Json {
  return Object.fromEntries(Object.entries(object).filter(([name]) => name !== 'links'));
}

export function listCommand(resource: Resource, meaning: string): Command {
  const { filters = {}, choosesFields = false } = resource;
  return {
    words: `${resource.words} list`,
    options: { ...filters, ...(choosesFields ? fieldsOption : {}) },
    meaning,
    run: async (context, input) => {
      const columns = chosenFields(input) ?? resource.columns;
      const query: Record<string, string | undefined> = { fields: columns.join(',') };
      for (const [name, filter] of Object.entries(filters)) query[filter.query] ??= textOption(input, name);
      const rows = await listAll(context.client, resource, query);
      print(context, input, { json: rows.map(shown), text: columnsOf(rows, columns) });
    },
  };
}

export function showCommand(resource: Resource, meaning: string): Command {
  return {
    words: `${resource.words} show`,
    operands: [resource.operand],
    options: resource.choosesFields ? fieldsOption : {},
    meaning,
    run: async (context, input) => {
      const fields = chosenFields(input);
      const query = fields ? `?fields=${encodeURIComponent(fields.join(','))}` : '';
      const found = await context.client.call('GET', `${resource.path}/${pathOperand(input)}${query}`);
      if (!found)
        throw new AppError(
          'not_found',
          `${resource.words[0]?.toUpperCase()}${resource.words.slice(1)} ${input.operands[0]} could not be found.`,
        );
      print(context, input, { json: found, text: fieldTable(shown(found)) });
    },
  };
}

export function setCommand(resource: Resource, meaning: string): Command {
  return {
    words: `${resource.words} set`,
    operands: [resource.operand, 'FIELD=VALUE...'],
    meaning,
    details: assignmentHelp,
    run: async (context, input) => {
      const patch = toPatch(await readAssignments(input.operands.slice(1)));
      const changed = await context.client.call('PATCH', `${resource.path}/${pathOperand(input)}`, patch);
      print(context, input, { json: changed, text: `${resource.words} ${input.operands[0]} changed\n` });
    },
  };
}

export function deleteCommand(resource: Resource, meaning: string): Command {
  return {
    words: `${resource.words} delete`,
    operands: [`${resource.operand}...`],
    meaning,
    run: (context, input) =>
      forEachOperand(context, input, async (name, ident) => {
        await context.client.call('DELETE', `${resource.path}/${ident}`);
        return { json: { deleted: name }, text: `${resource.words} ${name} deleted\n` };
      }),
  };
}
