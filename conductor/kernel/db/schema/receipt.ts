import { sql } from 'drizzle-orm';
import { boolean, index, integer, pgTable, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
import { identityColumns, instantColumn } from '#conductor/kernel/db/schema/columns.ts';

/** Keys that receipts are signed with: one key at a time, and all earlier ones, to verify old receipts with. */
export const receiptKeys = pgTable(
  'receipt_keys',
  {
    /** SHA-256 of the public half as DER, 64 hex digits. */
    fingerprint: text().primaryKey(),
    /** PEM. */
    publicKey: text().notNull(),
    /** PEM, sealed; null once another key has taken its place: nobody signs with it any more. */
    privateKey: text(),
    createdAt: instantColumn().notNull().defaultNow(),
    retiredAt: instantColumn(),
  },
  (table) => [
    // of conductors that make the first one at the same time, one wins
    uniqueIndex('one_receipt_key_in_use').on(sql`(${table.retiredAt} is null)`).where(sql`retired_at is null`),
  ],
);
export type ReceiptKeyRow = typeof receiptKeys.$inferSelect;

/** Signed statements of what was wiped. They have no references to nodes and flows: those may be gone, receipts stay. */
export const receipts = pgTable(
  'receipts',
  {
    ...identityColumns(),
    /** A flow has one. */
    flowUuid: uuid().notNull().unique(),
    nodeUuid: uuid().notNull(),
    /** The node's name at that time. */
    nodeName: text(),
    serialNumber: text(),
    actionId: text(),
    preserveLocalStorage: boolean().notNull(),
    disksWiped: integer().notNull(),
    disksLeftAlone: integer().notNull(),
    keyFingerprint: text()
      .notNull()
      .references(() => receiptKeys.fingerprint),
    signedAt: instantColumn().notNull(),
    /** The envelope, byte for byte as it is handed out. */
    envelope: text().notNull(),
  },
  (table) => [index().on(table.nodeUuid, table.id), index().on(table.nodeName, table.id)],
);
export type ReceiptRow = typeof receipts.$inferSelect;
export type ReceiptInsert = typeof receipts.$inferInsert;
