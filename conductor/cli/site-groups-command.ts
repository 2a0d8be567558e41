import { adviseOnRevision } from '#conductor/cli/advise-on-revision.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  textOption,
  usageError,
} from '#conductor/cli/command.ts';
import { countNodes, drawGroups, drawings } from '#conductor/cli/draw-groups.ts';
import { printable } from '#conductor/cli/fit-screen.ts';
import { print } from '#conductor/cli/print.ts';
import { AppError } from '#shared/errors/app-error.ts';

interface PlannedGroup {
  readonly name: string;
  readonly critical: boolean;
  readonly depends_on: readonly string[];
  readonly members: readonly string[];
}

async function show(context: CommandContext, input: CommandInput): Promise<void> {
  const wanted = textOption(input, 'format') ?? 'text';
  const drawing = drawings.find((each) => each === wanted);
  if (drawing === undefined) throw usageError(`--format: it must be ${drawings.join(', ')}`);
  const version = textOption(input, 'version');
  const query = version === undefined ? '' : `?version=${encodeURIComponent(version)}`;
  const plan = await context.client.call('GET', `/api/v1.0/site/groups${query}`);
  if (!plan) throw new AppError('not_found', await adviseOnRevision(context, version ?? 'committed'));
  const groups = (plan['groups'] as PlannedGroup[]).map((group) => ({
    ...group,
    name: printable(group.name),
    depends_on: group.depends_on.map(printable),
    remark: countNodes(group.members.length),
  }));
  print(context, input, { json: plan, text: drawGroups(groups, drawing) });
}

export const siteGroupsCommand: Command = {
  words: 'site groups',
  options: {
    version: { value: 'REVISION', meaning: 'a number, or committed (default), buffer, last-site-action, …' },
    format: { value: drawings.join('|'), meaning: 'a tree (default), Graphviz or Mermaid' },
  },
  meaning: 'the groups of the site in their order, each beneath what it comes after',
  run: show,
};
