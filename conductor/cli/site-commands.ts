import type { CollectionRow } from '#conductor/api/sites.ts';
import { callFor, type Json } from '#conductor/cli/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  flagOption,
  textOption,
  usageError,
} from '#conductor/cli/command.ts';
import { findCheckedOutSite } from '#conductor/cli/find-checked-out-site.ts';
import { print } from '#conductor/cli/print.ts';
import { type CollectionText, readCollection } from '#conductor/cli/read-collection.ts';
import { bufferModes } from '#conductor/model/buffer-modes.ts';
import { AppError } from '#shared/errors/app-error.ts';

const configdocs = '/api/v1.0/configdocs';
const commitPath = '/api/v1.0/commitconfigdocs';
const yaml = { type: 'application/x-yaml' };
const nothing: CollectionText = { text: '', describePlaces: (message) => message, fileOf: () => undefined };

const modeOption = {
  value: 'append|replace|rejectoncontents',
  meaning: 'what becomes of what the buffer holds already (default: refuse if there is any)',
};

async function printStatus(
  context: CommandContext,
  input: CommandInput,
  status: Json,
  collected: CollectionText = nothing,
): Promise<void> {
  const { renderStatus } = await import('#conductor/cli/render-status.ts');
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
  const query = new URLSearchParams({ ...(mode === undefined ? {} : { buffermode: mode }), ...more.query }).toString();
  const path = `${configdocs}/${encodeURIComponent(more.collection)}${query === '' ? '' : `?${query}`}`;
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
  const query = new URLSearchParams({
    ...(flagOption(input, 'force') ? { force: 'true' } : {}),
    ...(isDryRun ? { dryrun: 'true' } : {}),
  }).toString();
  const status = (await context.client.call('POST', `${commitPath}${query === '' ? '' : `?${query}`}`)) ?? {};
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
    meaning: 'take a collection away, in the buffer',
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
    meaning: 'commit the buffer: site actions work from what is committed last',
    run: commit,
  },
];
