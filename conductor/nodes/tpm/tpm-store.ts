import { eq } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { type NodeTpmRow, nodeTpms } from '#conductor/kernel/db/schema/tpm.ts';
import type { MeasuredBoot } from '#conductor/model/tpm/measured-boot.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { BootVerdict } from '#shared/wire/attestation.ts';

/** The TPM that the node is known by; `undefined` = no boot of it was attested. */
export async function findNodeTpm(db: Queryable, nodeUuid: string): Promise<NodeTpmRow | undefined> {
  const [row] = await db.select().from(nodeTpms).where(eq(nodeTpms.nodeUuid, nodeUuid));
  return row;
}

/** One attested boot. */
export interface AttestedBoot {
  /** `TPM2B_PUBLIC`, base64. */
  readonly ekPublic: string;
  readonly ekCertificate: string | undefined;
  /** `undefined`: without a log that fits the quote. */
  readonly boot: MeasuredBoot | undefined;
  readonly verdict: BootVerdict;
  readonly reasons: readonly string[];
}

/** Writes a boot down; the first one of a node is accepted with it, and so is its first with a log. */
export async function recordAttestation(
  db: Queryable,
  nodeUuid: string,
  attested: AttestedBoot,
  at: Date,
): Promise<void> {
  const { ekPublic, ekCertificate = null, boot = null, verdict } = attested;
  const seen = {
    seenEkPublic: ekPublic,
    seenEkCertificate: ekCertificate,
    seenBoot: boot,
    seenAt: at,
    verdict,
    reasons: [...attested.reasons],
  };
  const accepted = { ekPublic, ekCertificate, acceptedBoot: boot, acceptedAt: at };
  await db
    .insert(nodeTpms)
    .values({ nodeUuid, ...accepted, ...seen })
    .onConflictDoUpdate({ target: nodeTpms.nodeUuid, set: seen });
}

/**
 * Accepts the TPM and the boot that were seen last as the node's own, from now on.
 * @throws AppError `not_found` when no boot of the node was attested
 */
export async function acceptTpm(
  db: Queryable,
  nodeUuid: string,
  by: { readonly user: string | null; readonly at: Date },
): Promise<NodeTpmRow> {
  const row = await findNodeTpm(db, nodeUuid);
  if (!row) throw neverAttested(nodeUuid);
  const accepted = {
    ekPublic: row.seenEkPublic,
    ekCertificate: row.seenEkCertificate,
    acceptedBoot: acceptedWith(row),
    acceptedAt: by.at,
    acceptedBy: by.user,
  };
  await db.update(nodeTpms).set(accepted).where(eq(nodeTpms.nodeUuid, nodeUuid));
  return { ...row, ...accepted };
}

/** Programs of boots by other ways stay accepted, while the machine is the same. */
function acceptedWith({ ekPublic, seenEkPublic, acceptedBoot, seenBoot }: NodeTpmRow): MeasuredBoot | null {
  if (!seenBoot) return ekPublic === seenEkPublic ? acceptedBoot : null;
  if (!acceptedBoot || ekPublic !== seenEkPublic) return seenBoot;
  return { ...seenBoot, programs: [...new Set([...acceptedBoot.programs, ...seenBoot.programs])] };
}

/** Error for a node of which no boot was attested. */
export function neverAttested(nodeUuid: string): AppError {
  return new AppError(
    'not_found',
    `No boot of node ${nodeUuid} was attested: BATON_ATTESTATION is off, its machine has no TPM 2.0, or it has not booted ` +
      "Baton's ramdisk since.",
  );
}
