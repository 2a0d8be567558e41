import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '#conductor/kernel/db/open.ts';
import { type BufferMode, bufferModes, parseRole } from '#conductor/model/site/revision-roles.ts';
import { noNetworks } from '#conductor/networks/networks-file.ts';
import { parseDocuments } from '#conductor/sites/documents/yaml/parse-documents.ts';
import { commitBuffer, rollBack } from '#conductor/sites/revisions/commit-buffer.ts';
import {
  listTaggedRevisions,
  readCollectionContent,
  readRoles,
  tagRevision,
} from '#conductor/sites/revisions/revision-store.ts';
import { intermediateCommits } from '#conductor/sites/revisions/revision-tags.ts';
import { uploadCollection } from '#conductor/sites/revisions/upload-collection.ts';
import { AppError } from '#shared/errors/app-error.ts';
import * as fc from '#test/fuzz/fast-check.ts';
import { forgetRevisions } from '#test/support/forget-revisions.ts';
import { openTestDatabase } from '#test/support/test-database.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

/** airship.md §5 in a few lines of plain lists, against the database, over any sequence of what operators do. */

let database: Database;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

type Content = Readonly<Record<string, string>>;
interface ModelRevision {
  readonly content: Content;
  readonly tags: Set<string>;
}
/** Revision 1 stands first. */
type Model = ModelRevision[];

type Operation =
  | {
      readonly kind: 'upload';
      readonly collection: string;
      readonly text: string | undefined;
      readonly mode: BufferMode;
    }
  | { readonly kind: 'commit' }
  | { readonly kind: 'roll back'; readonly back: number }
  | { readonly kind: 'act'; readonly tag: 'site-action-success' | 'site-action-failure' };

const collections = ['a', 'b'];
const texts = ['x', 'y'].map((word) => `schema: x/Y/v1\nmetadata: {name: COLLECTION}\ndata: ${word}\n`);

const operations = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record<Operation & { kind: 'upload' }>({
        kind: fc.constant('upload'),
        collection: fc.constantFrom(...collections),
        text: fc.constantFrom(...texts, undefined),
        mode: fc.constantFrom(...bufferModes),
      }),
    },
    { weight: 3, arbitrary: fc.constant<Operation>({ kind: 'commit' }) },
    { weight: 1, arbitrary: fc.nat(3).map((back): Operation => ({ kind: 'roll back', back })) },
    {
      weight: 1,
      arbitrary: fc
        .constantFrom('site-action-success', 'site-action-failure')
        .map((tag): Operation => ({ kind: 'act', tag })),
    },
  ),
  { maxLength: 14 },
);

const lastWith = (model: Model, ...tags: string[]) =>
  model.findLastIndex((revision) => tags.some((tag) => revision.tags.has(tag))) + 1;
const same = (one: Content, other: Content) => collections.every((collection) => one[collection] === other[collection]);
const textOf = (collection: string, text: string) => text.replace('COLLECTION', collection);

function rolesOf(model: Model): Record<string, number> {
  const committed = lastWith(model, 'committed');
  const found = {
    'successful-site-action': lastWith(model, 'site-action-success'),
    'last-site-action': lastWith(model, 'site-action-success', 'site-action-failure'),
    committed,
    buffer: model.length > committed ? model.length : 0,
  };
  return Object.fromEntries(Object.entries(found).filter(([, id]) => id > 0));
}

/** Computes the model after an operation; `undefined` = the operation is refused. */
function expected(model: Model, operation: Operation): Model | undefined {
  const committed = model[lastWith(model, 'committed') - 1]?.content ?? {};
  const newest = model.at(-1)?.content ?? {};
  const buffer = lastWith(model, 'committed') === model.length ? committed : newest;
  const add = (content: Content): Model => [...model, { content, tags: new Set() }];
  if (operation.kind === 'roll back') return add(model[operation.back - 1]?.content ?? {});
  if (operation.kind === 'commit') {
    if (same(buffer, committed)) return undefined;
    model.at(-1)?.tags.add('committed');
    return model;
  }
  if (operation.kind === 'act') {
    model[lastWith(model, 'committed') - 1]?.tags.add(operation.tag);
    return model;
  }
  const { collection, mode } = operation;
  const text = operation.text === undefined ? undefined : textOf(collection, operation.text);
  if (mode === 'rejectoncontents' && !same(buffer, committed)) return undefined;
  if (mode === 'append' && buffer[collection] !== committed[collection] && buffer[collection] !== text)
    return undefined;
  const { [collection]: _, ...rest } = mode === 'replace' ? committed : buffer;
  const content: Content = text === undefined ? rest : { ...rest, [collection]: text };
  return same(content, buffer) ? model : add(content);
}

async function act(operation: Operation): Promise<void> {
  const { db } = database;
  if (operation.kind === 'roll back') await rollBack(db, operation.back, undefined);
  else if (operation.kind === 'commit') {
    const context = { db, secrets: testSecrets, networks: { networks: noNetworks }, drivers: { hardwareTypes: [] } };
    await commitBuffer(context, { force: true, dryRun: false, user: 'me' });
  } else if (operation.kind === 'act') {
    const revisionId = (await readRoles(db)).get('committed');
    if (revisionId !== undefined) await tagRevision(db, { revisionId, tag: operation.tag, data: {}, user: 'me' });
  } else {
    const text = operation.text === undefined ? undefined : textOf(operation.collection, operation.text);
    const content = text === undefined ? undefined : { text, documents: parseDocuments(text).documents };
    await uploadCollection(
      { db, secrets: testSecrets },
      { collection: operation.collection, mode: operation.mode, content, user: 'me' },
    );
  }
}

/** Every text of every revision. */
async function readAll(count: number): Promise<Content[]> {
  const all: Content[] = [];
  for (let id = 1; id <= count; id += 1) {
    const content: Record<string, string> = {};
    for (const collection of collections) {
      const found = await readCollectionContent(database.db, id, collection);
      if (found) content[collection] = found.text;
    }
    all.push(content);
  }
  return all;
}

test('whatever is uploaded, committed, rolled back and acted on: roles are as Airship has them, and no revision changes', async () => {
  await fc.assert(
    fc.asyncProperty(operations, async (sequence) => {
      await forgetRevisions(database.db);
      let model: Model = [];
      for (const operation of sequence) {
        if (operation.kind === 'roll back' && operation.back > model.length) continue;
        const next = expected(model, operation);
        const outcome = await act(operation).then(
          () => 'done',
          (error: unknown) => (error instanceof AppError ? error.code : error),
        );
        expect([operation, outcome]).toEqual([operation, next ? 'done' : 'conflict']);
        model = next ?? model;
        expect(Object.fromEntries(await readRoles(database.db))).toEqual(rolesOf(model));
      }
      expect(await readAll(model.length)).toEqual(model.map(({ content }) => content));
      const committed = lastWith(model, 'committed');
      const last = lastWith(model, 'site-action-success', 'site-action-failure');
      const between = model.flatMap(({ tags }, index) =>
        tags.has('committed') && index + 1 > last && index + 1 < committed ? [index + 1] : [],
      );
      expect(intermediateCommits(await listTaggedRevisions(database.db), committed)).toEqual(between);
    }),
    { numRuns: 25 },
  );
});

test.each([
  [[], 1, []],
  [[{ id: 1, tags: ['committed'] }], 1, []],
  [
    [
      { id: 1, tags: ['committed'] },
      { id: 3, tags: ['committed'] },
    ],
    3,
    [1],
  ],
  [
    [
      { id: 1, tags: ['committed', 'site-action-failure'] },
      { id: 3, tags: ['committed'] },
    ],
    3,
    [],
  ],
  // on what has been acted on an action may be repeated, whatever was skipped before (airship.md §5, case a)
  [
    [
      { id: 1, tags: ['committed'] },
      { id: 3, tags: ['committed', 'site-action-success'] },
    ],
    3,
    [],
  ],
  [
    [
      { id: 1, tags: ['site-action-success'] },
      { id: 2, tags: ['mine'] },
      { id: 5, tags: ['committed'] },
    ],
    5,
    [],
  ],
  [
    [
      { id: 7, tags: ['committed'] },
      { id: 2, tags: ['committed', 'site-action-success'] },
      { id: 5, tags: ['committed'] },
      { id: 4, tags: ['committed'] },
    ],
    7,
    [4, 5],
  ],
])('of %j, with %i to be used, these lie between: %j', (revisions, current, between) => {
  expect(intermediateCommits(revisions, current)).toEqual(between);
});

test('roles are known by the seed’s words and by Shipyard’s', () => {
  expect(parseRole('last-site-action')).toBe('last-site-action');
  expect(parseRole('successful_site_action')).toBe('successful-site-action');
  expect(parseRole('newest')).toBeUndefined();
});
