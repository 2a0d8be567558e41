import { z } from 'zod';
import { type Answer, json, links, nullableText, time, uuid, wholeNumber } from '#conductor/api/values.ts';

/** Answers about Baton's own records: receipts, webhooks, tokens, conductors. */

export const Receipt = z
  .strictObject({
    id: uuid,
    node_uuid: uuid,
    node_name: nullableText,
    serial_number: nullableText,
    preserve_local_storage: z.boolean().nullable(),
    disks_wiped: wholeNumber,
    disks_left_alone: wholeNumber,
    flow: uuid.nullable(),
    site_action: nullableText,
    key: z.string(),
    signed_at: z.string(),
  })
  .meta({ id: 'Receipt' });
export type ReceiptAnswer = Answer<typeof Receipt>;

/** `retired_at` is null for the key in use. */
export const ReceiptKey = z
  .strictObject({
    fingerprint: z.string(),
    public_key: z.string(),
    created_at: z.string(),
    retired_at: z.string().nullable(),
  })
  .meta({ id: 'ReceiptKey' });
export type ReceiptKeyAnswer = Answer<typeof ReceiptKey>;

/** A DSSE envelope. */
export const ReceiptEnvelope = z.object({
  payloadType: z.string(),
  payload: z.string(),
  signatures: z.array(z.record(z.string(), z.unknown())),
});

export const Webhook = z
  .strictObject({
    uuid,
    name: z.string(),
    url: z.string(),
    events: z.array(z.string()),
    secret: z.string().meta({ description: '******, but for the answer that makes it.' }),
    project: nullableText,
    created_by: nullableText,
    created_at: time,
    updated_at: time.nullable(),
    links,
  })
  .meta({ id: 'Webhook' });
export type WebhookAnswer = Answer<typeof Webhook>;

export const WebhookTest = z.strictObject({
  delivered: z.boolean(),
  status: wholeNumber.nullable().optional(),
  error: nullableText,
});

export const WebhookDelivery = z
  .strictObject({
    id: wholeNumber,
    event_id: z.string(),
    event_type: z.string(),
    subject: z.string(),
    state: z.enum(['pending', 'delivered', 'given up']),
    attempts: wholeNumber,
    last_status: wholeNumber.nullable(),
    last_error: nullableText,
    next_attempt_at: time.nullable(),
    created_at: time,
    ended_at: time.nullable(),
    body: json,
  })
  .meta({ id: 'WebhookDelivery' });
export type WebhookDeliveryAnswer = Answer<typeof WebhookDelivery>;

const token = {
  uuid,
  name: z.string(),
  role: z.string(),
  project: nullableText,
  created_by: nullableText,
  created_at: time,
  expires_at: time.nullable(),
  last_used_at: time.nullable(),
};
export const Token = z.strictObject(token).meta({ id: 'Token' });
export const NewToken = z.strictObject({ ...token, token: z.string() });
export type TokenAnswer = Answer<typeof Token>;

export const Conductor = z
  .strictObject({
    hostname: z.string(),
    conductor_group: z.string(),
    alive: z.boolean(),
    drivers: z.array(z.string()),
    created_at: time,
    updated_at: time.nullable(),
    links,
  })
  .partial()
  .meta({ id: 'Conductor' });
export type ConductorAnswer = Answer<typeof Conductor>;

/** Logins in values are masked. */
export const SettingInForce = z
  .strictObject({
    name: z.string(),
    value: z.string(),
    default: z.string(),
    from: z.enum(['default', 'environment']),
    meaning: z.string(),
  })
  .meta({ id: 'SettingInForce' });
export type SettingInForce = Answer<typeof SettingInForce>;

const recordedVlans = z.union([
  z.enum(['other', 'isolated']),
  z.int(),
  z.strictObject({ native: z.int().exactOptional(), tagged: z.string() }),
]);

/** Output of a device, as `test/recorded` has it. */
export const Recording = z
  .strictObject({
    system: z.string(),
    /** By command, address or document. */
    outputs: z.record(z.string(), z.string()),
    /** Reading of a switch; null = it can't be read, or is a machine. */
    reading: z
      .strictObject({
        ports: z.record(z.string(), recordedVlans),
        bonds: z
          .record(z.string(), z.strictObject({ mode: z.string(), pair: z.boolean(), members: z.array(z.string()) }))
          .exactOptional(),
        vlans: z.string().exactOptional(),
      })
      .nullable(),
    /** Questions that were refused, or whose answers can't be read. */
    faults: z.array(z.string()),
  })
  .meta({ id: 'Recording' });
export type RecordingAnswer = z.infer<typeof Recording>;
