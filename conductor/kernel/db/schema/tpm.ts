import { jsonb, pgTable, text } from 'drizzle-orm/pg-core';
import { instantColumn } from '#conductor/kernel/db/schema/columns.ts';
import { ofNode } from '#conductor/kernel/db/schema/node.ts';
import type { AttestationKeyRecord } from '#conductor/model/tpm/boot-attestation.ts';
import type { MeasuredBoot } from '#conductor/model/tpm/measured-boot.ts';
import type { BootVerdict } from '#shared/wire/attestation.ts';

/** The TPM by which a node is known, and what its boots have measured. */
export const nodeTpms = pgTable('node_tpms', {
  nodeUuid: ofNode().primaryKey(),
  /** `TPM2B_PUBLIC` of the endorsement key, base64: the machine's identity. */
  ekPublic: text().notNull(),
  /** X.509, DER in base64; null = the TPM holds none. */
  ekCertificate: text(),
  /** Boot that later ones are compared with; null = none has been measured with a log. */
  acceptedBoot: jsonb().$type<MeasuredBoot>(),
  acceptedAt: instantColumn().notNull().defaultNow(),
  /** User who has accepted it; null = it was the first that the node was seen with. */
  acceptedBy: text(),
  /** Newest boot of that TPM; null = its log is missing, or does not fit the quote. */
  seenBoot: jsonb().$type<MeasuredBoot>(),
  seenAt: instantColumn().notNull().defaultNow(),
  verdict: text().$type<BootVerdict>().notNull(),
  /** Sentences. */
  reasons: jsonb().$type<string[]>().notNull(),
  /** Attestation key of its newest boot. */
  attestationKey: jsonb().$type<AttestationKeyRecord>(),
  /** Time of its last boot that was trusted. */
  trustedAt: instantColumn(),
  /** Another TPM that has asked for this node since: of another mainboard, another machine, or a stranger. */
  otherEkPublic: text(),
  otherEkCertificate: text(),
  otherBoot: jsonb().$type<MeasuredBoot>(),
  otherAt: instantColumn(),
});
export type NodeTpmRow = typeof nodeTpms.$inferSelect;
