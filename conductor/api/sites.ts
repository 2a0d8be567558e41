import { z } from 'zod';
import { type Answer, json, nullableText, time, wholeNumber } from '#conductor/api/values.ts';
import { weekdays } from '#conductor/model/site/rollout.ts';

/** Answers about a site's documents, revisions, plugins, credentials, groups. */

const task = {
  task: wholeNumber.meta({ description: 'Place in tasks.yaml, from 1.' }),
  id: nullableText,
  role: z.union([z.literal('*'), z.array(z.string())]),
  stage: z.string(),
  type: z.enum(['shell', 'step', 'reboot']),
  parameters: json,
  requires: z.array(z.string()),
  required_for: z.array(z.string()),
};
const PluginTask = z.strictObject(task);
export type PluginTaskAnswer = Answer<typeof PluginTask>;

export const Plugin = z
  .strictObject({
    name: z.string(),
    version: z.string(),
    title: nullableText,
    tasks: z.array(PluginTask),
    created_by: nullableText,
    created_at: z.string(),
  })
  .meta({ id: 'Plugin' });
export type PluginAnswer = Answer<typeof Plugin>;

export const PluginDetail = z
  .strictObject({
    ...Plugin.shape,
    tasks_text: z.string().meta({ description: 'tasks.yaml, as it came.' }),
    files: z.array(z.strictObject({ path: z.string(), bytes: wholeNumber, executable: z.boolean() })),
  })
  .meta({ id: 'PluginDetail' });
export type PluginDetailAnswer = Answer<typeof PluginDetail>;

export const PluginOrder = z
  .strictObject({
    tasks: z.array(
      z.strictObject({
        ...task,
        position: wholeNumber.meta({ description: 'From 1.' }),
        plugin: z.string(),
        version: z.string(),
        range: nullableText.meta({ description: 'Of the convention that its postfix is in.' }),
        reason: z.string(),
      }),
    ),
    ranges: z.array(z.strictObject({ from: wholeNumber, to: wholeNumber, meaning: z.string() })),
  })
  .meta({ id: 'PluginOrder' });
export type PluginOrderAnswer = Answer<typeof PluginOrder>;

const revision = {
  id: wholeNumber,
  url: z.string(),
  createdAt: time,
  buckets: z.array(z.string()).meta({ description: 'Its collections.' }),
  kind: z.enum(['upload', 'rollback']),
  rolled_back_to: wholeNumber.nullable(),
  created_by: nullableText,
  roles: z.array(z.enum(['successful-site-action', 'last-site-action', 'committed', 'buffer'])),
};

/** Tag → its data. */
export const Tags = z.record(z.string(), z.unknown());
export const Revision = z.strictObject({ ...revision, tags: Tags }).meta({ id: 'Revision' });
export type RevisionAnswer = Answer<typeof Revision>;
const ListedRevision = z.strictObject({ ...revision, tags: z.array(z.string()) });
export type ListedRevisionAnswer = Answer<typeof ListedRevision>;
export const Revisions = z.strictObject({
  count: wholeNumber,
  next: z.null(),
  prev: z.null(),
  results: z.array(ListedRevision),
});

const version = z.union([z.string(), wholeNumber]);
const change = z.enum(['unmodified', 'modified', 'created', 'deleted']);

export const Collection = z
  .strictObject({
    collection_name: z.string(),
    base_version: version,
    base_revision: wholeNumber.meta({ description: '0 = there is none.' }),
    base_status: z.enum(['present', 'not present']),
    new_version: version,
    new_revision: wholeNumber,
    new_status: change,
  })
  .meta({ id: 'Collection' });
export type CollectionRow = Answer<typeof Collection>;

/** Collection → what has become of it. */
export const CollectionChanges = z.record(z.string(), change);

const documentName = { schema: z.string(), name: z.string(), collection: z.string() };
const DocumentName = z.strictObject(documentName);
const changedValue = {
  path: z.string(),
  old: z.unknown().optional(),
  new: z.unknown().optional(),
};
export const DocumentChanges = z
  .strictObject({
    document_added: z.strictObject({ count: wholeNumber, details: z.array(DocumentName) }),
    document_deleted: z.strictObject({ count: wholeNumber, details: z.array(DocumentName) }),
    document_changed: z.strictObject({
      count: wholeNumber,
      details: z.array(z.strictObject({ ...documentName, changes: z.array(z.strictObject(changedValue)) })),
    }),
  })
  .meta({ id: 'DocumentChanges' });
export type SiteDiff = Answer<typeof DocumentChanges>;

/** A document, as YAML writes it. */
export const Documents = z.array(z.record(z.string(), z.unknown()));

export const Credential = z
  .strictObject({ name: z.string(), username: nullableText, updated_by: nullableText, updated_at: time })
  .meta({ id: 'Credential' });

const Selector = z.strictObject({
  node_names: z.array(z.string()).optional(),
  node_tags: z.array(z.string()).optional(),
  node_labels: z.array(z.array(z.string())).optional(),
  rack_names: z.array(z.string()).optional(),
});

/** A number of nodes, or a share of the group's: `10%`. */
const nodeCount = z.union([wholeNumber, z.string()]);

export const SiteGroups = z
  .strictObject({
    revision: wholeNumber,
    strategy: z.string(),
    max_parallel_groups: wholeNumber,
    groups: z.array(
      z.strictObject({
        name: z.string(),
        critical: z.boolean(),
        depends_on: z.array(z.string()),
        selectors: z.array(Selector),
        success_criteria: z
          .strictObject({
            percent_successful_nodes: z.number().optional(),
            minimum_successful_nodes: wholeNumber.optional(),
            maximum_failed_nodes: wholeNumber.optional(),
          })
          .optional(),
        max_parallel_nodes: wholeNumber.optional(),
        deploy_as_prepared: z.boolean().optional(),
        prepare_timeout: z.number().optional(),
        deploy_timeout: z.number().optional(),
        canary: z.strictObject({ nodes: wholeNumber, stay_seconds: wholeNumber }).optional(),
        batch: z.array(nodeCount).optional(),
        max_unavailable: z.array(z.strictObject({ nodes: nodeCount, per: z.string().optional() })).optional(),
        order: z.strictObject({ by: z.string(), manner: z.enum(['together', 'spread']) }).optional(),
        pause_on: z.strictObject({ failed_nodes: nodeCount.optional(), same_cause: wholeNumber.optional() }).optional(),
        window: z
          .strictObject({
            from: z.string(),
            to: z.string(),
            days: z.array(z.enum(weekdays)).optional(),
            zone: z.string(),
          })
          .optional(),
        health: z
          .array(
            z.strictObject({
              name: z.string(),
              http: z.string().optional(),
              tcp: z.string().optional(),
              prometheus: z.string().optional(),
              query: z.string().optional(),
              at_least: z.number().optional(),
              at_most: z.number().optional(),
              hold_seconds: wholeNumber,
              patience_seconds: wholeNumber,
            }),
          )
          .optional(),
        members: z.array(z.string()),
      }),
    ),
  })
  .meta({ id: 'SiteGroups' });
export type SiteGroupsAnswer = Answer<typeof SiteGroups>;
