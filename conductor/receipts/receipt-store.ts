import { and, asc, desc, eq, lt, or } from 'drizzle-orm';
import type { ReceiptAnswer, ReceiptKeyAnswer } from '#conductor/api/records.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { type ReceiptInsert, type ReceiptRow, receipts } from '#conductor/kernel/db/schema/receipt.ts';
import { findNode, isUuid } from '#conductor/nodes/node-store.ts';
import type { ListedReceiptKey } from '#conductor/receipts/signing-key-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

type ListedReceipt = Omit<ReceiptRow, 'envelope'>;

const { envelope: _, ...listed } = {
  id: receipts.id,
  uuid: receipts.uuid,
  flowUuid: receipts.flowUuid,
  nodeUuid: receipts.nodeUuid,
  nodeName: receipts.nodeName,
  serialNumber: receipts.serialNumber,
  actionId: receipts.actionId,
  preserveLocalStorage: receipts.preserveLocalStorage,
  disksWiped: receipts.disksWiped,
  disksLeftAlone: receipts.disksLeftAlone,
  keyFingerprint: receipts.keyFingerprint,
  signedAt: receipts.signedAt,
  envelope: receipts.envelope,
};

/**
 * Newest first.
 * @param filter `node`: uuid or name, of a node that is there or of one that is gone; `before`: a receipt's uuid
 * @throws AppError `invalid_argument` for a marker that is not a receipt.
 */
export async function listReceipts(
  db: Queryable,
  filter: {
    readonly node: string | undefined;
    readonly flow: string | undefined;
    readonly marker: string | undefined;
    readonly limit: number;
  },
): Promise<ListedReceipt[]> {
  const { node, flow, marker, limit } = filter;
  const before = marker === undefined ? undefined : await findReceipt(db, marker);
  if (marker !== undefined && !before) throw new AppError('invalid_argument', `marker: no receipt ${marker}`);
  return db
    .select(listed)
    .from(receipts)
    .where(
      and(
        node === undefined ? undefined : await isOfNode(db, node),
        flow === undefined ? undefined : eq(receipts.flowUuid, flow),
        before === undefined ? undefined : lt(receipts.id, before.id),
      ),
    )
    .orderBy(desc(receipts.id))
    .limit(limit);
}

/** In the order in which they were signed. */
export function listReceiptsOfAction(db: Queryable, actionId: string): Promise<ListedReceipt[]> {
  return db.select(listed).from(receipts).where(eq(receipts.actionId, actionId)).orderBy(asc(receipts.id));
}

/** A node that is there may have had another name when it was wiped. */
async function isOfNode(db: Queryable, ident: string) {
  if (isUuid(ident)) return eq(receipts.nodeUuid, ident.toLowerCase());
  const node = await findNode(db, ident);
  return or(eq(receipts.nodeName, ident), node ? eq(receipts.nodeUuid, node.uuid) : undefined);
}

export async function findReceipt(db: Queryable, uuid: string): Promise<ReceiptRow | undefined> {
  const [row] = await db.select().from(receipts).where(eq(receipts.uuid, uuid));
  return row;
}

export async function findReceiptOfFlow(db: Queryable, flowUuid: string): Promise<ReceiptRow | undefined> {
  const [row] = await db.select().from(receipts).where(eq(receipts.flowUuid, flowUuid));
  return row;
}

/** Keeps it, unless the flow has one: then that one stays. @returns the one that is kept */
export async function keepReceipt(db: Queryable, receipt: ReceiptInsert): Promise<ReceiptRow> {
  await db.insert(receipts).values(receipt).onConflictDoNothing({ target: receipts.flowUuid });
  const kept = await findReceiptOfFlow(db, receipt.flowUuid);
  if (!kept) throw new AppError('internal', `keep receipt ${receipt.uuid}: the database has no flow of it`);
  return kept;
}

export function viewReceipt(row: ListedReceipt): ReceiptAnswer {
  return {
    id: row.uuid,
    node_uuid: row.nodeUuid,
    node_name: row.nodeName,
    serial_number: row.serialNumber,
    preserve_local_storage: row.preserveLocalStorage,
    disks_wiped: row.disksWiped,
    disks_left_alone: row.disksLeftAlone,
    flow: row.flowUuid,
    site_action: row.actionId,
    key: row.keyFingerprint,
    signed_at: row.signedAt.toISOString(),
  };
}

/** A key as lists answer it; `retired_at` is null for the one in use. */
export function viewReceiptKey(row: ListedReceiptKey): ReceiptKeyAnswer {
  return {
    fingerprint: row.fingerprint,
    public_key: row.publicKey,
    created_at: row.createdAt.toISOString(),
    retired_at: row.retiredAt?.toISOString() ?? null,
  };
}
