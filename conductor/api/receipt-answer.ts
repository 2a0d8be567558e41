/** A receipt as lists answer it. Times are ISO 8601. */
export interface ReceiptAnswer {
  readonly id: string;
  readonly node_uuid: string;
  readonly node_name: string | null;
  readonly serial_number: string | null;
  readonly preserve_local_storage: boolean;
  readonly disks_wiped: number;
  readonly disks_left_alone: number;
  readonly flow: string;
  readonly site_action: string | null;
  /** Fingerprint of the key that has signed it. */
  readonly key: string;
  readonly signed_at: string;
}

/** A key as lists answer it; `retired_at` is null for the one in use. */
export interface ReceiptKeyAnswer {
  readonly fingerprint: string;
  readonly public_key: string;
  readonly created_at: string;
  readonly retired_at: string | null;
}
