import { z } from 'zod';
import { type Answer, nullableText, time } from '#conductor/api/values.ts';
import { certificateStates } from '#conductor/model/tpm/verify-certificate.ts';
import { bootVerdicts } from '#shared/wire/attestation.ts';

const fingerprint = z.string().meta({ description: 'SHA-256 of the public endorsement key, hex: names the TPM.' });

const Tpm = z.strictObject({
  fingerprint,
  endorsement_key: z.string().meta({ description: 'PEM.' }),
  certificate: nullableText.meta({ description: "The TPM vendor's for that key, PEM; null = it holds none." }),
  certificate_state: z.enum(certificateStates).meta({
    description:
      'By BATON_TPM_CA_DIR. `expired` unmakes no TPM; `wrong`: of another key; `unknown`: nobody vouches for it.',
  }),
  certificate_detail: z.string().meta({ description: "Its root's name, or the reason." }),
});

const Measured = z.strictObject({
  pcrs: z.record(z.string(), z.string()).meta({ description: 'SHA-256 bank, hex, by number.' }),
  secure_boot: z.boolean().nullable(),
  firmware_version: nullableText,
  programs: z.array(z.string()).meta({ description: 'Authenticode digests of what the firmware has started (PCR 4).' }),
});

/** Everything that everyone who follows the fleet has of a node's TPM. */
export const Attestation = z.strictObject({
  verdict: z.enum(bootVerdicts),
  reasons: z.array(z.string()),
  accepted: z.boolean().meta({ description: 'Somebody has accepted the TPM since that boot: its next one is judged.' }),
  another: z.boolean().meta({ description: 'Another TPM has asked, and nobody has accepted one since.' }),
});

/** `GET /v1/tpms` */
export const ListedTpm = Attestation.extend({
  uuid: z.string().meta({ description: "The node's." }),
  name: nullableText,
  fingerprint,
  attested_at: time,
}).meta({ id: 'ListedTpm' });
export type ListedTpmAnswer = Answer<typeof ListedTpm>;

/** A node's TPM, and the newest boot that it stated. */
export const NodeTpm = z
  .strictObject({
    verdict: z.enum(bootVerdicts),
    reasons: z.array(z.string()),
    attested_at: time,
    tpm: Tpm.meta({ description: 'The one that the node is known by.' }),
    boot: Measured.nullable().meta({
      description: 'Its newest; null = the log is missing, or does not fit the quote.',
    }),
    accepted: z.strictObject({
      boot: Measured.nullable(),
      at: time,
      by: nullableText.meta({ description: 'null = it was the first that the node was seen with.' }),
    }),
    attestation_key: z
      .strictObject({
        public_key: z.string().meta({ description: 'PEM.' }),
        unique: nullableText.meta({
          description: "Its template's `unique`, base64, from which the TPM makes the key again.",
        }),
        statement: z.string().meta({
          description:
            "A DSSE envelope, signed by the conductor's receipt key: this key is in the TPM of that endorsement key, at that time.",
        }),
      })
      .nullable()
      .meta({ description: "That of the newest boot of Baton's ramdisk; of what runs since nothing is claimed." }),
    other: z
      .strictObject({ tpm: Tpm, boot: Measured.nullable(), at: time })
      .nullable()
      .meta({ description: 'Another TPM that has asked since: of another mainboard, another machine, or a stranger.' }),
  })
  .meta({ id: 'NodeTpm' });
export type NodeTpmAnswer = Answer<typeof NodeTpm>;

/** `PUT /v1/nodes/{node}/tpm/accepted` */
export const AcceptedTpm = z.strictObject({
  fingerprint: fingerprint.regex(/^[0-9a-f]{64}$/, { error: 'must be 64 hex digits, as `tpm.fingerprint` has them' }),
  attested_at: z.iso.datetime({ offset: true, error: 'must be a time, as `attested_at` has it' }).optional().meta({
    description:
      'The boot that is meant: `attested_at` of the TPM as it was shown, or `other.at`. Where a later one has come since, nothing is accepted.',
  }),
});
