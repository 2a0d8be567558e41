import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { claimAction } from '#conductor/flows/site-actions/action-lease.ts';
import { getAction, listActionSteps, listActions } from '#conductor/flows/site-actions/action-store.ts';
import { type Database, migrationsFolder, openDatabase } from '#conductor/kernel/db/open.ts';
import { actionSorts } from '#conductor/model/site/action-table.ts';
import { silentLog } from '#shared/log.ts';
import { askPostgresql } from '#test/support/postgresql.ts';
import { urlOf } from '#test/support/test-database.ts';

/** A database of the release that kept actions' states and steps apart from flows. */

const migration = '0025_site_actions_as_flows';
const name = `test_${randomUUID().replaceAll('-', '')}`;
let database: Database;

interface Entry {
  readonly tag: string;
  readonly when: number;
}

const steps = ['preflight', 'validate_site_design', 'verify_site', 'baremetal_nodes', 'final_report', 'tag_revision'];

interface Old {
  readonly id: string;
  readonly columns: Readonly<Record<string, string>>;
  /** States of the first steps; the others are pending. */
  readonly states: readonly string[];
}

const olds: readonly Old[] = [
  { id: 'a-complete', columns: { state: `'complete'`, ended_at: 'now()' }, states: Array(6).fill('done') },
  {
    id: 'b-failed',
    columns: { state: `'failed'`, error: `'baremetal_nodes: bad'`, ended_at: 'now()' },
    states: ['done', 'done', 'done', 'failed', 'done', 'done'],
  },
  {
    id: 'c-stopped',
    columns: { state: `'stopped'`, wanted: `'stop'`, error: `'the action was stopped'`, ended_at: 'now()' },
    states: ['done', 'skipped', 'skipped', 'skipped', 'done', 'skipped'],
  },
  {
    id: 'd-open',
    columns: {
      state: `'paused'`,
      wanted: `'pause'`,
      paused_at: `'2026-01-02T03:04:05Z'`,
      holder: `'old'`,
      token: '3',
      fit_token: '3',
      expires_at: `now() + interval '1 hour'`,
    },
    states: ['done', 'done', 'done', 'running'],
  },
];

function insertOf({ id, columns, states }: Old): string {
  const row = {
    id: `'${id}'`,
    name: `'deploy_site'`,
    revision_id: '1',
    context_marker: `'m'`,
    '"user"': `'ada'`,
    created_at: `'2026-01-01T00:00:00Z'`,
    ...columns,
  };
  const values = steps.map((step, index) => `('${id}', ${index + 1}, '${step}', '${states[index] ?? 'pending'}')`);
  return `insert into site_actions (${Object.keys(row).join(', ')}) values (${Object.values(row).join(', ')});
    insert into site_action_steps (action_id, position, name, state) values ${values.join(', ')}`;
}

beforeAll(async () => {
  const server = inject('testServerUrl');
  const url = urlOf(server, name);
  await askPostgresql(server, `create database ${name} template template0`);
  const journal = JSON.parse(await readFile(`${migrationsFolder}/meta/_journal.json`, 'utf8')) as { entries: Entry[] };
  const before = journal.entries.slice(
    0,
    journal.entries.findIndex(({ tag }) => tag === migration),
  );
  for (const { tag } of before) await askPostgresql(url, await readFile(`${migrationsFolder}/${tag}.sql`, 'utf8'));
  const [last] = before.slice(-1);
  const hash = readMigrationFiles({ migrationsFolder })[before.length - 1]?.hash;
  await askPostgresql(
    url,
    `create schema drizzle; create table drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint);
     insert into drizzle.__drizzle_migrations (hash, created_at) values ('${hash}', ${last?.when})`,
  );
  for (const old of olds) await askPostgresql(url, insertOf(old));
  database = await openDatabase({ url, dataDirectory: '', log: silentLog });
});
afterAll(async () => {
  await database.close();
  await askPostgresql(inject('testServerUrl'), `drop database ${name} with (force)`);
});

test('actions that have ended, and the one under way, are flows with the same ids and steps', async () => {
  const { db } = database;
  const made = { name: 'deploy_site', user: 'ada', createdAt: new Date('2026-01-01T00:00:00Z') };
  expect(await listActions(db, { limit: 10 })).toMatchObject([
    {
      ...made,
      id: 'd-open',
      state: 'running',
      held: 'paused',
      heldSince: new Date('2026-01-02T03:04:05Z'),
      endedAt: null,
    },
    { ...made, id: 'c-stopped', state: 'aborted', held: null, error: 'the action was stopped' },
    { ...made, id: 'b-failed', state: 'failed', error: 'baremetal_nodes: bad', endedAt: expect.any(Date) },
    { ...made, id: 'a-complete', state: 'succeeded', error: null, abortRequested: null },
  ]);
  const open = await getAction(db, 'd-open');
  const rows = await listActionSteps(db, [open]);
  expect(rows.map(({ step, phase, state }) => [step, phase, state])).toEqual([
    ['preflight', 'main', 'succeeded'],
    ['validate_site_design', 'main', 'succeeded'],
    ['verify_site', 'main', 'succeeded'],
    ['baremetal_nodes', 'main', 'running'],
    ['final_report', 'cleanup', 'pending'],
    ['tag_revision', 'cleanup', 'pending'],
  ]);
});

test('its conductor has lost it, and nobody of that release claims it, or makes another', async () => {
  const claim = { holder: 'new', leaseMs: 60_000 };
  expect(await claimAction(database.db, claim, actionSorts[0])).toMatchObject({
    action: { id: 'd-open' },
    lease: { token: 5 },
  });
  const url = urlOf(inject('testServerUrl'), name);
  const insert = `insert into site_actions (id, name, revision_id, context_marker, needs) values ('e', 'deploy_site', 1, 'm', 0)`;
  await expect(askPostgresql(url, insert)).rejects.toThrow('made_as_flow');
});
