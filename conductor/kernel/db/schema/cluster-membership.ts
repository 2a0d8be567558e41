import { jsonb, pgTable, uuid } from 'drizzle-orm/pg-core';
import { nodes } from '#conductor/kernel/db/schema/node.ts';

/** A node's object in Kubernetes, as far as it tells one life of a machine from another. */
export interface ClusterRegistration {
  /** `metadata.uid` */
  readonly uid: string;
  readonly bootId?: string | undefined;
  /** When it was seen first, by the database's clock; ISO 8601. */
  readonly at: string;
}

/**
 * What a machine was in its clusters when it was seen there last: what a redeploy has to bring back, and what tells the
 * new instance from the one before.
 */
export const clusterMemberships = pgTable('cluster_memberships', {
  nodeUuid: uuid()
    .primaryKey()
    .references(() => nodes.uuid, { onDelete: 'cascade' }),
  /** What stood for it in Kubernetes; empty = it was never seen there. */
  registrations: jsonb().$type<ClusterRegistration[]>().notNull().default([]),
  /** Names of the etcd clusters that a member of it was taken out of. */
  etcdClusters: jsonb().$type<string[]>().notNull().default([]),
});
export type ClusterMembershipRow = typeof clusterMemberships.$inferSelect;
