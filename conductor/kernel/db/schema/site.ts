import { integer, jsonb, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { instantColumn, sequenceColumn } from '#conductor/kernel/db/schema/columns.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';

/**
 * The text of one collection of documents, as it was uploaded, and what it says. Shared by all revisions that have it:
 * a new revision costs one small row per collection.
 */
export const siteContents = pgTable('site_contents', {
  /** SHA-256 of the text, hexadecimal; keyed where the text is sealed. */
  hash: text().primaryKey(),
  /** Sealed where it has an encrypted document (`sites/revisions/encrypted-documents.ts`). */
  text: text().notNull(),
  /** One object per YAML document, in order: parsed once, when it is uploaded. */
  documents: jsonb().$type<JsonObject[]>().notNull(),
});

/**
 * Never changed: what a site was meant to be at some time. The newest ones may not be committed; old ones without a tag are
 * forgotten (`sites/revisions/prune-revisions.ts`).
 */
export const siteRevisions = pgTable('site_revisions', {
  id: integer().generatedAlwaysAsIdentity().primaryKey(),
  /** `rollback`: its content is that of `rolledBackTo`. */
  kind: text().$type<'upload' | 'rollback'>().notNull(),
  rolledBackTo: integer(),
  createdBy: text(),
  createdAt: instantColumn().notNull().defaultNow(),
});
export type SiteRevisionRow = typeof siteRevisions.$inferSelect;

const ofRevision = () =>
  integer()
    .notNull()
    .references(() => siteRevisions.id, { onDelete: 'cascade' });

/** Collections that a revision consists of, with their content. */
export const siteRevisionCollections = pgTable(
  'site_revision_collections',
  {
    revisionId: ofRevision(),
    collection: text().notNull(),
    contentHash: text()
      .notNull()
      .references(() => siteContents.hash),
  },
  (table) => [primaryKey({ columns: [table.revisionId, table.collection] })],
);

/** `committed`, `site-action-success`, `site-action-failure`, and the operator's own. */
export const siteRevisionTags = pgTable(
  'site_revision_tags',
  {
    revisionId: ofRevision(),
    tag: text().notNull(),
    /** Data of a site action's tag: `{"action": …, "flow": …}`. */
    data: jsonb().$type<JsonObject>().notNull().default({}),
    createdBy: text(),
    createdAt: instantColumn().notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.revisionId, table.tag] })],
);
export type SiteRevisionTagRow = typeof siteRevisionTags.$inferSelect;

/** User and password of BMCs, which documents name and never contain. */
export const siteCredentials = pgTable('site_credentials', {
  name: text().primaryKey(),
  username: text().notNull(),
  /** Sealed (`conductor/kernel/secrets`). */
  password: text().notNull(),
  updatedBy: text(),
  updatedAt: instantColumn().notNull().defaultNow(),
});
export type SiteCredentialRow = typeof siteCredentials.$inferSelect;

/** Nodes that site actions have made of the documents: a row is written when its deploy has succeeded. */
export const siteNodes = pgTable('site_nodes', {
  /** The node's name, as in the documents. */
  name: text().primaryKey(),
  nodeUuid: uuid()
    .notNull()
    .unique()
    .references(() => nodes.uuid, { onDelete: 'cascade' }),
  /** Revision of the documents that it was deployed from. */
  revisionId: integer().notNull(),
  /** Hash of all that its deploy depends on: shows whether the documents say something else now. */
  designHash: text().notNull(),
  /** `instance_uuid` of that deploy: another one's instance is not the site's. */
  instanceUuid: uuid(),
  actionId: text().notNull(),
  deployedAt: instantColumn().notNull().defaultNow(),
  /** null = it was deployed, and nobody has seen it in service since. */
  inServiceAt: instantColumn(),
});
export type SiteNodeRow = typeof siteNodes.$inferSelect;

/** A plugin as it was uploaded: never changed afterwards; another content needs another version. */
export const plugins = pgTable(
  'plugins',
  {
    id: sequenceColumn().notNull().unique(),
    name: text().notNull(),
    version: text().notNull(),
    title: text(),
    /** `tasks.yaml` as it came. */
    tasksText: text().notNull(),
    /** Its tasks, parsed and checked (`conductor/sites/plugins`). */
    tasks: jsonb().$type<JsonObject[]>().notNull(),
    /** By path below the plugin's scripts: base64, and whether it may be executed. */
    files: jsonb().$type<Record<string, { readonly content: string; readonly executable: boolean }>>().notNull(),
    /** Hash of tasks and files; empty = it was uploaded before this was kept. */
    contentHash: text().notNull().default(''),
    createdBy: text(),
    createdAt: instantColumn().notNull().defaultNow(),
  },
  (table) => [primaryKey({ columns: [table.name, table.version] })],
);
export type PluginRow = typeof plugins.$inferSelect;
