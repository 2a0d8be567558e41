import { isDeepStrictEqual } from 'node:util';
import { eq, sql } from 'drizzle-orm';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent.ts';
import { type NodeTpmRow, nodeTpms } from '#conductor/kernel/db/schema/tpm.ts';
import type { AttestationKeyRecord } from '#conductor/model/tpm/boot-attestation.ts';
import type { MeasuredBoot } from '#conductor/model/tpm/measured-boot.ts';
import { tpmFingerprint } from '#conductor/model/tpm/public-area.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { BootVerdict } from '#shared/wire/attestation.ts';

/** The TPM that the node is known by; `undefined` = no boot of it was attested. */
export async function findNodeTpm(db: Queryable, nodeUuid: string): Promise<NodeTpmRow | undefined> {
  const [row] = await db.select().from(nodeTpms).where(eq(nodeTpms.nodeUuid, nodeUuid));
  return row;
}

/** Whether a boot was trusted, by its time alone: conductors of the release before keep no verdict with the boot. */
export function wasTrusted(
  tpm: Pick<NodeTpmRow, 'trustedAt'> | undefined,
  session: Pick<AgentSessionRow, 'createdAt'>,
): boolean {
  return Boolean(tpm?.trustedAt && tpm.trustedAt >= session.createdAt);
}

/** One attested boot. */
export interface AttestedBoot {
  /** `TPM2B_PUBLIC`, base64. */
  readonly ekPublic: string;
  readonly ekCertificate: string | undefined;
  /** `undefined`: without a log that fits the quote. */
  readonly boot: MeasuredBoot | undefined;
  readonly attestationKey: AttestationKeyRecord;
  readonly verdict: BootVerdict;
  readonly reasons: readonly string[];
}

const now = sql`now()`;

/** Difference that a boot has made to what is known of the node's TPM. */
export interface AttestationNews {
  /** Verdict before; null = no boot was attested. */
  readonly from: BootVerdict | null;
  /** It is said by another TPM than the node's. */
  readonly another: boolean;
}

/**
 * Writes a boot down. The node is known from then on by the first TPM that it is seen with, and that TPM's first boot with a
 * log is accepted; what another TPM says is kept beside, and changes nothing.
 * @param mustBeTrusted nothing becomes known by a boot that is not trusted
 * @returns `undefined`: nothing that people have not been told before
 */
export async function recordAttestation(
  tx: Transaction,
  nodeUuid: string,
  attested: AttestedBoot,
  { mustBeTrusted }: { readonly mustBeTrusted: boolean },
): Promise<AttestationNews | undefined> {
  const { ekPublic, ekCertificate = null, boot = null, verdict } = attested;
  const isTrusted = verdict === 'trusted';
  const seen = {
    seenBoot: boot,
    seenAt: now,
    verdict,
    attestationKey: attested.attestationKey,
    reasons: [...attested.reasons],
    ...(isTrusted ? { trustedAt: now } : {}),
  };
  if (isTrusted || !mustBeTrusted) {
    const first = { nodeUuid, ekPublic, ekCertificate, acceptedBoot: boot, ...seen };
    const made = await tx.insert(nodeTpms).values(first).onConflictDoNothing().returning();
    if (made.length > 0) return { from: null, another: false };
  }
  const isNode = eq(nodeTpms.nodeUuid, nodeUuid);
  const [before] = await tx.select().from(nodeTpms).where(isNode).for('update');
  if (!before) return undefined;
  if (before.ekPublic !== ekPublic) {
    const other = { otherEkPublic: ekPublic, otherEkCertificate: ekCertificate, otherBoot: boot, otherAt: now };
    await tx.update(nodeTpms).set(other).where(isNode);
    // a stranger may ask with a new one each time
    return before.otherEkPublic === null ? { from: before.verdict, another: true } : undefined;
  }
  const accepted = sql`coalesce(${nodeTpms.acceptedBoot}, ${JSON.stringify(boot)}::jsonb)`;
  // an older release has accepted a boot without it; the right side of || counts where both have it
  const policy = isTrusted && boot?.policy !== undefined ? { policy: boot.policy } : {};
  const acceptedBoot = boot === null ? {} : { acceptedBoot: sql`${JSON.stringify(policy)}::jsonb || ${accepted}` };
  await tx
    .update(nodeTpms)
    .set({ ...seen, ...acceptedBoot })
    .where(isNode);
  const isSame = before.verdict === verdict && isDeepStrictEqual(before.reasons, [...attested.reasons]);
  return isSame ? undefined : { from: before.verdict, another: false };
}

/** Name of the person who has accepted a TPM where callers need no login: somebody has, which no first boot does. */
const withoutLogin = 'a caller without login';

/** A TPM that somebody accepts. */
interface Acceptance {
  readonly fingerprint: string;
  /** Time of the boot that they have seen; `undefined` = its newest, whichever that is. */
  readonly attestedAt: string | undefined;
  readonly user: string | null;
}

/**
 * Accepts the TPM with that fingerprint, and its newest boot, as the node's own from now on.
 * @throws AppError `not_found` when no boot of the node was attested; `conflict`: neither the node's TPM nor the other one
 * that has asked has that fingerprint, or it has booted since `attestedAt`
 */
export async function acceptTpm(
  tx: Transaction,
  nodeUuid: string,
  { fingerprint, attestedAt, user }: Acceptance,
): Promise<NodeTpmRow> {
  const [row] = await tx.select().from(nodeTpms).where(eq(nodeTpms.nodeUuid, nodeUuid)).for('update');
  if (!row) throw neverAttested(nodeUuid);
  requireSeen(row, fingerprint, attestedAt);
  const change = { ...acceptedChange(row, fingerprint), acceptedAt: now, acceptedBy: user ?? withoutLogin };
  const [accepted] = await tx.update(nodeTpms).set(change).where(eq(nodeTpms.nodeUuid, nodeUuid)).returning();
  if (!accepted) throw neverAttested(nodeUuid);
  return accepted;
}

/** @throws AppError `conflict` when the TPM has booted since the time that was shown */
function requireSeen(row: NodeTpmRow, fingerprint: string, attestedAt: string | undefined): void {
  const newest = apiTime(fingerprint === tpmFingerprint(row.ekPublic) ? row.seenAt : row.otherAt);
  if (attestedAt === undefined || newest === null || Date.parse(newest) === Date.parse(attestedAt)) return;
  throw new AppError(
    'conflict',
    `attested_at: that TPM's newest boot is of ${newest}, not of ${attestedAt}: look at it, and accept it by that time`,
  );
}

function acceptedChange(row: NodeTpmRow, fingerprint: string) {
  const own = tpmFingerprint(row.ekPublic);
  // programs of boots by other ways stay accepted, while the machine is the same
  if (fingerprint === own) return { acceptedBoot: merge(row.acceptedBoot, row.seenBoot) };
  const { otherEkPublic: ekPublic } = row;
  const other = ekPublic === null ? undefined : tpmFingerprint(ekPublic);
  if (ekPublic === null || other !== fingerprint) {
    const known = [own, ...(other === undefined ? [] : [other])].join(' and ');
    throw new AppError('conflict', `no TPM with the fingerprint ${fingerprint} has asked; those of ${known} have`);
  }
  const nothing = {
    attestationKey: null,
    otherEkPublic: null,
    otherEkCertificate: null,
    otherBoot: null,
    otherAt: null,
    trustedAt: null,
  };
  const seen = { seenBoot: row.otherBoot, seenAt: row.otherAt ?? now, verdict: 'unknown' as const };
  const reasons = ['this TPM was accepted since it has asked: its next boot is judged'];
  const { otherEkCertificate: ekCertificate, otherBoot: acceptedBoot } = row;
  return { ekPublic, ekCertificate, acceptedBoot, ...seen, reasons, ...nothing };
}

function merge(before: MeasuredBoot | null, now: MeasuredBoot | null): MeasuredBoot | null {
  if (!before || !now) return now ?? before;
  return { ...now, programs: [...new Set([...before.programs, ...now.programs])] };
}

/** Error for a node of which no boot was attested. */
export function neverAttested(nodeUuid: string): AppError {
  return new AppError(
    'not_found',
    `No boot of node ${nodeUuid} was attested: BATON_ATTESTATION is off, its machine has no TPM 2.0, or it has not booted ` +
      "Baton's ramdisk since; with `require` its first boot must be trusted.",
  );
}
