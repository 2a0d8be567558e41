import { parseAllDocuments } from 'yaml';
import type { CollectionRow, ListedRevisionAnswer, SiteDiff } from '#conductor/api/sites.ts';
import { type ApiClient, callFor, readList, withQuery } from '#conductor/cli/shell/api-client.ts';
import { assignmentHelp, readAssignments, toObject } from '#conductor/cli/shell/assignments.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  flagOption,
  pathOperand,
  textOption,
} from '#conductor/cli/shell/command.ts';
import { cell, print, table } from '#conductor/cli/shell/print.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import {
  describeNoRevision,
  parseVersion,
  type RevisionRole,
  rollbackModes,
} from '#conductor/model/site/revision-roles.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Says that no revision of the site is this one, and which there are; the API's 404 has no words here.
 * @param version as it was typed
 */
export async function adviseOnRevision({ client }: { readonly client: ApiClient }, version: string): Promise<string> {
  const rows = await readList<ListedRevisionAnswer>(client, '/api/v1.0/revisions?order=desc', 'results');
  const idOf = (role: RevisionRole) => rows.find(({ roles }) => roles.includes(role))?.id;
  const wanted = parseVersion(version) ?? version;
  const message = describeNoRevision(wanted);
  const upload = '`baton site upload COLLECTION FILE` fills it';
  if (wanted === 'buffer') {
    const committed = idOf('committed');
    return committed === undefined
      ? `${message}, and nothing is committed: ${upload}`
      : `${message}: ${upload}; without --version it is revision ${committed}, which is committed`;
  }
  const buffer = idOf('buffer');
  return buffer === undefined ? message : `${message}; the buffer has revision ${buffer}: --version buffer`;
}

const airship = '/api/v1.0';
const versionValue = 'VERSION';
const versionMeaning = 'buffer, committed, successful-site-action, last-site-action or a number';

/** @throws AppError `not_found` for a version that is not there */
async function listCollections(
  { client }: CommandContext,
  query: Readonly<Record<string, string | undefined>> = {},
): Promise<readonly CollectionRow[]> {
  const path = withQuery(`${airship}/configdocs`, query);
  return (await callFor<readonly CollectionRow[]>(client, 'GET', path, undefined, { isRequired: true })) ?? [];
}

function titleOf({ version, revision }: { readonly version: unknown; readonly revision: unknown }): string {
  if (typeof version === 'number') return `revision ${version}`;
  return `${cell(version)} (${revision === 0 ? 'nothing' : `revision ${cell(revision)}`})`;
}

async function diff(context: CommandContext, input: CommandInput): Promise<void> {
  const versions = ['base-version', 'diff-version'].map((name) => [name, textOption(input, name)] as const);
  const [row] = await listCollections(context, Object.fromEntries(versions));
  if (!row) {
    print(context, input, { json: {}, text: 'there are no documents\n' });
    return;
  }
  const { base_revision: base, new_revision: young } = row;
  const path = `${airship}/revisions/${cell(base)}/deepdiff/${cell(young)}`;
  const changes = await callFor<SiteDiff>(context.client, 'GET', path, undefined, { isRequired: true });
  if (!changes) throw new AppError('internal', `${path}: it has no answer`);
  const title = `${titleOf({ version: row['base_version'], revision: base })} → ${titleOf({ version: row['new_version'], revision: young })}\n`;
  const text = renderSiteDiff(changes);
  print(context, input, { json: changes, text: title + (text === '' ? 'the documents are the same\n' : text) });
}

async function revisions(context: CommandContext, input: CommandInput): Promise<void> {
  const path = withQuery(`${airship}/revisions`, { order: 'desc', tag: textOption(input, 'tag') });
  const rows = await readList<ListedRevisionAnswer>(context.client, path, 'results');
  const joined = (names: readonly string[]): string => names.join(',') || '-';
  const text = table([
    ['id', 'created', 'by', 'kind', 'collections', 'tags', 'is'],
    ...rows.map((row) => [
      cell(row.id),
      row.createdAt.slice(0, 19),
      cell(row.created_by),
      row.kind === 'rollback' ? `rollback to ${row.rolled_back_to}` : row.kind,
      joined(row.buckets),
      joined(row.tags),
      joined(row.roles),
    ]),
  ]);
  print(context, input, { json: rows, text });
}

/** The collections that one version has: all that is new in it against nothing. */
async function showVersion(context: CommandContext, input: CommandInput, version: string): Promise<void> {
  const rows = await listCollections(context, { 'base-version': '0', 'diff-version': version });
  const cells = rows.map((row) => [cell(row['collection_name']), cell(row['new_revision'])]);
  print(context, input, { json: rows, text: table([['collection', 'revision'], ...cells]) });
}

async function show(context: CommandContext, input: CommandInput): Promise<void> {
  const [collection] = input.operands;
  const isRendered = flagOption(input, 'rendered');
  if (isRendered && collection !== undefined) throw usageError('site show: --rendered is for the whole site');
  if (collection === undefined && !isRendered) {
    if (flagOption(input, 'cleartext-secrets')) {
      throw usageError('site show: --cleartext-secrets needs a collection, or --rendered');
    }
    const version = textOption(input, 'version');
    if (version !== undefined) {
      await showVersion(context, input, version);
      return;
    }
    const rows = await listCollections(context);
    const cells = rows.map((row) => [cell(row['collection_name']), cell(row['base_status']), cell(row['new_status'])]);
    print(context, input, { json: rows, text: table([['collection', 'committed', 'in the buffer'], ...cells]) });
    return;
  }
  const path = isRendered ? 'renderedconfigdocs' : `configdocs/${pathOperand(input)}`;
  const version = textOption(input, 'version');
  const cleartext = flagOption(input, 'cleartext-secrets') ? 'true' : undefined;
  const query = { version, 'cleartext-secrets': cleartext };
  const { content } = await context.client.download(withQuery(`${airship}/${path}`, query));
  const text = new TextDecoder().decode(content);
  const json = (): unknown[] => parseAllDocuments(text).map((document) => document.toJS() as unknown);
  print(context, input, { json: input.document === undefined ? undefined : json(), text });
}

async function rollback(context: CommandContext, input: CommandInput): Promise<void> {
  const mode = textOption(input, 'mode') ?? 'rejectoncontents';
  if (!rollbackModes.some((each) => each === mode)) {
    throw usageError(`--mode: ${mode}: it must be ${rollbackModes.join(', ')}`);
  }
  const path = `${airship}/rollback/${pathOperand(input)}?buffermode=${mode}`;
  const made = (await context.client.call('POST', path)) ?? {};
  const isCommitted = (await listCollections(context)).every((row) => row.new_status === 'unmodified');
  const next = isCommitted ? 'as what is committed does: there is nothing to commit' : '`baton site commit` commits it';
  const text = `revision ${cell(made['id'])} says what revision ${input.operands[0]} said${isCommitted ? ',' : ';'} ${next}\n`;
  print(context, input, { json: made, text });
}

async function tag(context: CommandContext, input: CommandInput): Promise<void> {
  const [revision = '', name = '', ...fields] = input.operands;
  const data = toObject(await readAssignments(fields));
  const path = `${airship}/revisions/${encodeURIComponent(revision)}/tags/${encodeURIComponent(name)}`;
  const isGoing = flagOption(input, 'remove');
  const tagged = await (isGoing ? context.client.call('DELETE', path) : context.client.call('POST', path, data));
  const text = isGoing
    ? `revision ${revision} has no tag ${name} any more\n`
    : `revision ${revision} is tagged ${name}\n`;
  print(context, input, { json: tagged, text });
}

export const siteRevisionCommands: readonly Command[] = [
  {
    words: 'site diff',
    options: {
      'base-version': { value: versionValue, meaning: `default committed; ${versionMeaning}` },
      'diff-version': { value: versionValue, meaning: `default buffer; ${versionMeaning}` },
    },
    meaning: 'documents and values that differ between two versions of the site',
    run: diff,
  },
  {
    words: 'site revisions',
    options: { tag: { value: 'TAG', meaning: 'only those that have it' } },
    meaning: 'revisions of the site, the newest first',
    run: revisions,
  },
  {
    words: 'site show',
    operands: ['[COLLECTION]'],
    options: {
      version: { value: versionValue, meaning: `default: the buffer, or else what is committed; ${versionMeaning}` },
      rendered: { meaning: 'all documents, with profiles resolved' },
      'cleartext-secrets': { meaning: 'decrypt encrypted documents; for administrators' },
    },
    meaning: "the site's collections, or the documents of one as they were uploaded",
    run: show,
  },
  {
    words: 'site rollback',
    operands: ['REVISION'],
    options: {
      mode: {
        value: rollbackModes.join('|'),
        meaning: 'what happens to changes in the buffer (default: refuse if there are any)',
      },
    },
    meaning: 'put an old revision into the buffer; 0 = an empty site',
    run: rollback,
  },
  {
    words: 'site tag',
    operands: ['REVISION', 'TAG', '[FIELD=VALUE...]'],
    options: { remove: { meaning: 'take the tag away' } },
    meaning: 'tag a revision',
    details: `${assignmentHelp} Baton alone sets committed, site-action-success and site-action-failure.`,
    run: tag,
  },
];

/** `+`, `-` and `~` documents, each changed value with its path. Pure. */
function renderSiteDiff({
  document_added: added,
  document_deleted: deleted,
  document_changed: changed,
}: SiteDiff): string {
  const lines = [
    ...added.details.map((document) => `+ ${documentTitle(document)}`),
    ...deleted.details.map((document) => `- ${documentTitle(document)}`),
    ...changed.details.flatMap((document) => [
      `~ ${documentTitle(document)}`,
      ...document.changes.map((change) => `    ${change.path}: ${describe(change)}`),
    ]),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

function documentTitle({ schema, name }: SiteDiff['document_added']['details'][number]): string {
  return `${schema}/${name}`;
}

function describe(change: { readonly old?: unknown; readonly new?: unknown }): string {
  if (!('old' in change)) return `added: ${cell(change.new)}`;
  if (!('new' in change)) return `removed: ${cell(change.old)}`;
  return `${cell(change.old)} → ${cell(change.new)}`;
}
