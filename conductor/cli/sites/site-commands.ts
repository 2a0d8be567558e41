import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, join, resolve, sep } from 'node:path';
import { z } from 'zod';
import type { CollectionRow, SiteGroupsAnswer } from '#conductor/api/sites.ts';
import { callFor, type Json, withQuery } from '#conductor/cli/shell/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  flagOption,
  textOption,
} from '#conductor/cli/shell/command.ts';
import { readDocument } from '#conductor/cli/shell/input-files.ts';
import { print } from '#conductor/cli/shell/print.ts';
import { printable } from '#conductor/cli/shell/screen.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { countNodes, drawGroups, drawings } from '#conductor/cli/sites/draw-groups.ts';
import { type CollectionText, findLinks, readCollection } from '#conductor/cli/sites/read-collection.ts';
import { adviseOnRevision } from '#conductor/cli/sites/site-revision-commands.ts';
import { bufferModes } from '#conductor/model/site/revision-roles.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Fields that Airship's Pegleg reads of a site: `site/NAME/site-definition.yaml`, of schema `pegleg/SiteDefinition/v1`.
 */
const SiteDefinition = z.object({
  data: z.object({
    site_type: z.string().optional(),
    repositories: z.record(z.string(), z.unknown()).nullish(),
  }),
});

interface CheckedOutSite {
  readonly name: string;
  readonly folders: readonly string[];
  /** Names, for people, of what belongs to the site and is not below this directory. */
  readonly missing: readonly string[];
}

/**
 * The folders of a site's documents: what all sites share, what those of its type share, and its own. A directory that is
 * laid out in another way is one site, all of it.
 * @param wanted which of several
 * @throws AppError `invalid_argument` naming the sites that there are, or the file that can't be read.
 */
async function findCheckedOutSite(directory: string, wanted: string | undefined): Promise<CheckedOutSite> {
  const sites = await listSites(directory);
  if (wanted === undefined && sites.length === 0) {
    return { name: basename(resolve(directory)), folders: [directory], missing: [] };
  }
  const [name, another] = wanted === undefined ? sites : sites.filter((each) => each === wanted);
  if (name === undefined || another !== undefined) {
    throw usageError(
      `--site: ${wanted === undefined ? 'must be given' : `there is no site ${wanted}`}; below ${join(directory, 'site')} there are ${sites.join(', ') || 'none'}`,
    );
  }
  const file = join(directory, 'site', name, 'site-definition.yaml');
  const parsed = SiteDefinition.safeParse(await readDocument('DIR', file));
  if (!parsed.success) throw usageError(`${file}: it must have data with site_type, text, and repositories, a mapping`);
  const { site_type: type, repositories } = parsed.data.data;
  const typeFolder = type === undefined ? undefined : join(directory, 'type', type);
  if (typeFolder !== undefined && !(await isThere(typeFolder))) {
    throw usageError(`${file}: site_type is ${type}, and there is no ${typeFolder}`);
  }
  const shared = join(directory, 'global');
  const folders = [
    ...((await isThere(shared)) ? [shared] : []),
    ...(typeFolder === undefined ? [] : [typeFolder]),
    join(directory, 'site', name),
  ];
  for (const folder of folders) await requireInside(directory, folder, file);
  return {
    name,
    folders,
    missing: Object.keys(repositories ?? {}).map(
      (repository) => `repository ${repository}, which ${file} names: check it out, and import its documents, too`,
    ),
  };
}

/** Refuses files outside the directory: it may be somebody else's, and must not take along what lies elsewhere. */
async function requireInside(directory: string, folder: string, file: string): Promise<void> {
  const [root, found] = await Promise.all([realpath(directory), realpath(folder)]);
  if (found === root || found.startsWith(root.endsWith(sep) ? root : `${root}${sep}`)) return;
  throw usageError(`${folder}, by ${file} and links, is ${found}, outside of ${directory}: nothing is imported`);
}

async function listSites(directory: string): Promise<string[]> {
  const names = await readdir(join(directory, 'site')).catch(() => []);
  const found = await Promise.all(names.map((name) => isThere(join(directory, 'site', name, 'site-definition.yaml'))));
  return names.filter((_, index) => found[index]).sort();
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

const configdocs = '/api/v1.0/configdocs';
const commitPath = '/api/v1.0/commitconfigdocs';
const yaml = { type: 'application/x-yaml' };
const nothing: CollectionText = { text: '', describePlaces: (message) => message, fileOf: () => undefined };

const modeOption = {
  value: 'append|replace|rejectoncontents',
  meaning: 'what happens to changes in the buffer (default: refuse if there are any)',
};

async function printStatus(
  context: CommandContext,
  input: CommandInput,
  status: Json,
  collected: CollectionText = nothing,
): Promise<void> {
  const { renderStatus } = await import('#conductor/cli/shell/render-status.ts');
  print(context, input, { json: status, text: `${renderStatus(status, collected.fileOf) ?? ''}\n` });
}

/** A collection into the buffer, or only looked at. */
async function send(
  context: CommandContext,
  input: CommandInput,
  more: {
    readonly collection: string;
    readonly collected: CollectionText;
    readonly query: Readonly<Record<string, string>>;
  },
): Promise<Json> {
  const mode = textOption(input, 'mode');
  if (mode !== undefined && !bufferModes.some((each) => each === mode)) {
    throw usageError(`--mode: ${mode}: it must be ${bufferModes.join(', ')}`);
  }
  const path = withQuery(`${configdocs}/${encodeURIComponent(more.collection)}`, { buffermode: mode, ...more.query });
  try {
    return (await context.client.call('POST', path, more.collected.text, yaml)) ?? {};
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, details, cause } = error;
    throw new AppError(code, more.collected.describePlaces(error.message), { details, cause });
  }
}

async function upload(context: CommandContext, input: CommandInput): Promise<void> {
  const [collection = '', ...files] = input.operands;
  const collected = await readCollection(files);
  await printStatus(context, input, await send(context, input, { collection, collected, query: {} }), collected);
}

async function importSite(context: CommandContext, input: CommandInput): Promise<void> {
  const [folder = ''] = input.operands;
  const { name, folders, missing } = await findCheckedOutSite(folder, textOption(input, 'site'));
  const collected = await readCollection(folders);
  for (const each of await findLinks(folders)) context.notify?.(`not imported: ${each}, which is a link`);
  for (const each of missing) context.notify?.(`not imported: ${each}`);
  const isDryRun = flagOption(input, 'dry-run');
  const query: Record<string, string> = isDryRun ? { dryrun: 'true' } : {};
  const status = await send(context, input, { collection: name, collected, query });
  await printStatus(context, input, status, collected);
  if (isDryRun && status['status'] !== 'Success') throw new AppError('command_failed', 'the documents have errors');
}

async function remove(context: CommandContext, input: CommandInput): Promise<void> {
  const [wanted = ''] = input.operands;
  const rows = (await callFor<readonly CollectionRow[]>(context.client, 'GET', configdocs)) ?? [];
  const names = rows.map((row) => row.collection_name);
  if (!names.includes(wanted)) {
    throw new AppError('not_found', `there is no collection ${wanted}: there are ${names.join(', ') || 'none'}`);
  }
  await printStatus(
    context,
    input,
    await send(context, input, { collection: wanted, collected: nothing, query: { 'empty-collection': 'true' } }),
  );
}

async function validate(context: CommandContext, input: CommandInput): Promise<void> {
  const [collection, ...files] = input.operands;
  if (collection !== undefined && files.length === 0) {
    throw usageError('site validate: COLLECTION and FILES, as they would be uploaded; or neither, for the buffer');
  }
  const collected = collection === undefined ? nothing : await readCollection(files);
  const status =
    collection === undefined
      ? await context.client.call('POST', `${commitPath}?dryrun=true`)
      : await send(context, input, { collection, collected, query: { dryrun: 'true' } });
  await printStatus(context, input, status ?? {}, collected);
  if (status?.['status'] !== 'Success') throw new AppError('command_failed', 'the documents have errors');
}

async function commit(context: CommandContext, input: CommandInput): Promise<void> {
  const isDryRun = flagOption(input, 'dry-run');
  const force = flagOption(input, 'force') ? 'true' : undefined;
  const path = withQuery(commitPath, { force, dryrun: isDryRun ? 'true' : undefined });
  const status = (await context.client.call('POST', path)) ?? {};
  await printStatus(context, input, status);
  if (isDryRun && status['status'] !== 'Success') throw new AppError('command_failed', 'the documents have errors');
}

export const siteCommands: readonly Command[] = [
  {
    words: 'site upload',
    operands: ['COLLECTION', 'FILE|DIR...'],
    options: { mode: modeOption },
    meaning: 'put documents into the buffer, as a collection',
    details:
      'YAML; of a directory all .yaml and .yml files below it; - = standard input. The collection gets exactly these\n' +
      'documents. What is wrong with the site then is printed and keeps them from being committed, not from being there.',
    run: upload,
  },
  {
    words: 'site import',
    operands: ['DIR'],
    options: {
      site: { value: 'NAME', meaning: 'which of its sites, where there are several below site/' },
      mode: modeOption,
      'dry-run': { meaning: 'only report what is wrong; nothing is stored' },
    },
    meaning: 'put a checked-out site of many files into the buffer, as the collection of its name',
    details:
      'Where DIR has a site/NAME/site-definition.yaml, as Airship lays sites out: global/, type/ of its site_type, and\n' +
      'site/NAME; else all of DIR. Files and folders whose names begin with a dot are left out.',
    run: importSite,
  },
  {
    words: 'site remove',
    operands: ['COLLECTION'],
    options: { mode: modeOption },
    meaning: 'remove a collection from the buffer',
    run: remove,
  },
  {
    words: 'site validate',
    operands: ['[COLLECTION]', '[FILE|DIR...]'],
    options: { mode: modeOption },
    meaning: 'report what is wrong with the buffer, or would be with these files in it; nothing is stored',
    run: validate,
  },
  {
    words: 'site commit',
    options: {
      force: { meaning: 'with its errors' },
      'dry-run': { meaning: 'only report what would prevent it' },
    },
    meaning: 'commit the buffer: site actions use the last commit',
    run: commit,
  },
];

async function show(context: CommandContext, input: CommandInput): Promise<void> {
  const wanted = textOption(input, 'format') ?? 'text';
  const drawing = drawings.find((each) => each === wanted);
  if (drawing === undefined) throw usageError(`--format: it must be ${drawings.join(', ')}`);
  const version = textOption(input, 'version');
  const path = withQuery('/api/v1.0/site/groups', { version });
  const plan = await callFor<SiteGroupsAnswer>(context.client, 'GET', path);
  if (!plan) throw new AppError('not_found', await adviseOnRevision(context, version ?? 'committed'));
  const groups = plan.groups.map((group) => ({
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
  meaning: 'the groups of the site in their order, each below those that it depends on',
  run: show,
};
