import { createHmac, randomBytes } from 'node:crypto';

const prefix = 'whsec_';
/** Lengths that the convention recommends. */
const secretBytes = { least: 24, most: 64, made: 32 } as const;

/** Makes a secret: `whsec_` and random bytes in base64. */
export function newWebhookSecret(): string {
  return `${prefix}${randomBytes(secretBytes.made).toString('base64')}`;
}

/** Describes what is wrong with a secret that an operator brings; `undefined` = nothing. */
export function webhookSecretFault(secret: string): string | undefined {
  const encoded = secret.slice(prefix.length);
  const key = Buffer.from(encoded, 'base64');
  const isSecret =
    secret.startsWith(prefix) &&
    key.toString('base64') === encoded &&
    key.length >= secretBytes.least &&
    key.length <= secretBytes.most;
  return isSecret
    ? undefined
    : `it must be ${prefix} and ${secretBytes.least} to ${secretBytes.most} random bytes in base64; without one, a secret is made`;
}

/**
 * Returns the headers of a delivery by the Standard Webhooks convention (version 1, symmetric): receivers check that the
 * signature is of `id.timestamp.body` and the timestamp fresh.
 */
export function webhookHeaders(
  secret: string,
  message: { readonly id: string; readonly at: Date; readonly body: string },
): Record<string, string> {
  const timestamp = String(Math.floor(message.at.getTime() / 1000));
  const key = Buffer.from(secret.slice(prefix.length), 'base64');
  const signature = createHmac('sha256', key).update(`${message.id}.${timestamp}.${message.body}`).digest('base64');
  return { 'webhook-id': message.id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}
