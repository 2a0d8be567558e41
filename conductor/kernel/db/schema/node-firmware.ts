import { jsonb, pgTable, timestamp, uuid } from 'drizzle-orm/pg-core';
import { nodes } from '#conductor/kernel/db/schema/node.ts';

/** As `GET /v1/nodes/{node}/firmware` answers it; times in ISO 8601. */
export interface KnownFirmware {
  readonly component: string;
  /** When the conductor first saw it. */
  readonly initial_version: string | null;
  readonly current_version: string | null;
  /** What an update by the conductor has brought. */
  readonly last_version_flashed: string | null;
  readonly created_at: string;
  readonly updated_at: string | null;
}

/** The versions of a node's firmware as last read. */
export const nodeFirmware = pgTable('node_firmware', {
  nodeUuid: uuid()
    .primaryKey()
    .references(() => nodes.uuid, { onDelete: 'cascade' }),
  components: jsonb().$type<readonly KnownFirmware[]>().notNull(),
  readAt: timestamp({ withTimezone: true, precision: 3 }).notNull(),
});
