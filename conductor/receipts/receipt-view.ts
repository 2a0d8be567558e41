import type { ReceiptAnswer, ReceiptKeyAnswer } from '#conductor/api/records.ts';
import type { ListedReceipt } from '#conductor/receipts/receipt-store.ts';
import type { ListedReceiptKey } from '#conductor/receipts/signing-key-store.ts';

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
