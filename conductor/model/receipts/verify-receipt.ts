import { z } from 'zod';
import { openEnvelope, type PublicKey } from '#conductor/model/receipts/envelope.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { describeIssues } from '#shared/errors/describe-issues.ts';
import { bootVerdicts } from '#shared/wire/attestation.ts';

/** Kind of a receipt, version 1. docs/teardown.md explains its fields for those who read receipts years later. */

export const receiptKind = 'WipeReceipt';
export const receiptVersion = 1;

const time = z.iso.datetime();
const text = z.string().nullable();

const Proof = z.object({
  canaries: z.int().nonnegative(),
  samples: z.int().nonnegative(),
  reads: z.string(),
});

const diskIdentity = {
  device: z.string(),
  model: text,
  serial: text,
  wwn: text,
  size_bytes: z.number().nonnegative().nullable(),
};

const WipedDisk = z.object({
  ...diskIdentity,
  method: z.string(),
  proof: Proof,
  seconds: z.number().nonnegative(),
  /** Means that were tried before, and why they did not do. */
  tried: z.array(z.string()),
});
export type WipedDisk = z.infer<typeof WipedDisk>;

const LeftDisk = z.object({
  ...diskIdentity,
  reason: z.string(),
  /** The entry of `properties.skip_block_devices` that names it. */
  skip_list_entry: z.record(z.string(), z.unknown()).nullable().default(null),
});
export type LeftDisk = z.infer<typeof LeftDisk>;

const SwitchPort = z.object({
  mac: z.string(),
  switch_id: text,
  port_id: text,
  switch_info: text,
  /** `not managed`: Baton has never moved this port. */
  state: z.enum(['isolated', 'on a network', 'not managed']),
  network: text,
  vlan: z.int().nullable(),
  read_back_at: time.nullable(),
});

/** Outcome of the attestation of the boot in which its disks were wiped. */
const Attestation = z.object({
  verdict: z.enum(bootVerdicts),
  reasons: z.array(z.string()),
  at: time,
  tpm: z
    .object({
      /** SHA-256 of the endorsement key's public part, hex. */
      fingerprint: z.string(),
      /** PEM; `certificate` is its vendor's. */
      endorsement_key: z.string(),
      certificate: text,
      /** PEM: the key of this boot, which the endorsement key's TPM holds, as it has proved to the conductor. */
      attestation_key: z.string(),
    })
    .nullable(),
});

/** A quote of the machine's TPM over the first `quoted_bytes` of this text: their SHA-256 is what was quoted. */
const QuotedWipe = z.object({
  quoted_bytes: z.int().positive(),
  /** `TPMS_ATTEST`, base64. */
  quote: z.base64(),
  /** PKCS 1, or DER: as `openssl dgst` takes it; and `TPMT_SIGNATURE`: as `tpm2_checkquote` does. Base64. */
  signature: z.base64(),
  tpm_signature: z.base64(),
  /** SHA-256 PCRs, hex, by number. */
  pcr_values: z.record(z.string(), z.string()),
});

/** The signed statement. Fields are added within a version; a new version is one that an old reader would misread. */
export const WipeReceipt = z.object({
  kind: z.literal(receiptKind),
  version: z.literal(receiptVersion),
  id: z.uuid(),
  conductor: z.object({ name: z.string() }),
  /** The program that has wiped: versions as the ramdisk's agent reports them. */
  agent: z
    .object({ version: text, hardware_managers: z.record(z.string(), z.string()) })
    .nullable()
    .default(null),
  /** Limits of the receipt: what it can't prove. */
  scope: z.string().default(''),
  node: z.object({
    uuid: z.guid(),
    name: text,
    vendor: text,
    model: text,
    serial_number: text,
    macs: z.array(z.string()),
    /** When a ramdisk has read vendor, model and serial from the machine; null = never. */
    inventory_at: time.nullable(),
  }),
  preserve_local_storage: z.boolean(),
  disks_wiped: z.array(WipedDisk),
  disks_left_alone: z.array(LeftDisk),
  /** Disks of the machine's inventory that the wipe met neither way. */
  disks_not_seen: z.array(
    z.object({
      ...diskIdentity,
      /** Why the wipe of all disks counts without it; `null`: it was to be kept with the rest, and may hold data. */
      excuse: text.default(null),
    }),
  ),
  /** Warnings of the agent: entries of the skip list that named no disk, storage controllers without a driver. */
  warnings: z.array(z.string()).default([]),
  switch_ports: z.array(SwitchPort),
  times: z.object({ started: time, wiped: time, signed: time }),
  flows: z.object({ teardown: z.guid().nullable(), wipe: z.guid() }),
  site_action: text,
  requested_by: text,
  /** `null`: boots were not attested. */
  attestation: Attestation.nullable().default(null),
  tpm_quote: QuotedWipe.nullable().default(null),
  /** Reason why there is no quote though the boot was attested. */
  tpm_quote_problem: text.default(null),
});
export type WipeReceipt = z.infer<typeof WipeReceipt>;

const Header = z.object({ kind: z.string(), version: z.number() });

/**
 * Reads a receipt, once one of the keys is known to have signed it. Needs nothing but its arguments.
 * @throws AppError `invalid_argument` saying which of both is not so.
 */
export function verifyReceipt(
  text: string,
  keys: readonly PublicKey[],
): { readonly receipt: WipeReceipt; readonly fingerprint: string } {
  const { payload, fingerprint } = openEnvelope(
    text,
    keys.map(({ key }) => key),
  );
  const receipt = parseReceipt(payload.toString('utf8'));
  requireUnretiredKey(receipt, fingerprint, keys);
  return { receipt, fingerprint };
}

/** A conductor signs nothing with a key that it has retired: somebody else has it. */
function requireUnretiredKey({ times }: WipeReceipt, fingerprint: string, keys: readonly PublicKey[]): void {
  const retired = keys.flatMap((key) => (key.fingerprint === fingerprint ? (key.retiredAt ?? []) : []));
  const [first] = retired.sort((a, b) => a.getTime() - b.getTime());
  if (first === undefined || Date.parse(times.signed) <= first.getTime()) return;
  throw new AppError(
    'invalid_argument',
    `it says that it was signed at ${times.signed}, by a key that was retired at ${first.toISOString()}: no conductor has ` +
      'signed it',
  );
}

/** @throws AppError `invalid_argument` for one that this Baton can't read: guessing would be worse than nothing. */
export function parseReceipt(payload: string): WipeReceipt {
  const document = readPayload(payload);
  const header = Header.safeParse(document);
  if (!header.success)
    throw new AppError('invalid_argument', 'the signed content has no kind and version: it is not a receipt');
  const { kind, version } = header.data;
  if (kind !== receiptKind || version !== receiptVersion) {
    throw new AppError(
      'invalid_argument',
      `it is a ${kind} of version ${version}, and this Baton reads ${receiptKind} of version ${receiptVersion}: use the ` +
        'Baton that has signed it, or a newer one',
    );
  }
  const parsed = WipeReceipt.safeParse(document);
  if (parsed.success) return parsed.data;
  throw new AppError(
    'invalid_argument',
    `the signed content is not a ${kind} of version ${version}: ${describeIssues(parsed.error)}`,
  );
}

function readPayload(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch (cause) {
    throw new AppError('invalid_argument', 'the signed content is not JSON: it is not a receipt', { cause });
  }
}
