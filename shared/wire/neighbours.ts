import { type KeyObject, sign, verify } from 'node:crypto';
import { z } from 'zod';

/** Signs a ticket, `<claims>.<Ed25519 signature>`, both base64url: it goes into a header. */
export function signTicket(ticket: Ticket, key: KeyObject): string {
  const claims = Buffer.from(JSON.stringify(ticket)).toString('base64url');
  return `${claims}.${sign(null, Buffer.from(claims), key).toString('base64url')}`;
}

/** Opens the ticket, if the key signed it and it has not expired; by its text alone, nobody is asked. */
export function openTicket(text: string, key: KeyObject, now: Date): Ticket | undefined {
  const [claims = '', signature = '', ...more] = text.split('.');
  if (more.length > 0 || !verify(null, Buffer.from(claims), key, Buffer.from(signature, 'base64url'))) return undefined;
  // signed: the conductor made it
  const ticket = Ticket.safeParse(JSON.parse(Buffer.from(claims, 'base64url').toString()));
  return ticket.success && ticket.data.expires > now.getTime() ? ticket.data : undefined;
}

/**
 * `POST /v1/neighbours/{node uuid}`, Baton's own: which machines deploy the same image, and the ticket by which they know
 * each other. Nothing waits for it: without an answer the image comes from its server.
 */

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in hex');

export const NeighboursRequest = z.strictObject({
  agent_token: z.string(),
  /** The checksum of the image's index, as the deploy names it. */
  image: z.string().regex(/^[0-9a-f]{40,128}$/, 'must be a digest in hex'),
  /** Where the agent serves chunks, on the address at which it takes commands. */
  port: z.int().min(1).max(65_535),
  /** Digest of the certificate that it serves with, over its DER. */
  certificate_sha256: sha256,
});
export type NeighboursRequest = z.infer<typeof NeighboursRequest>;

/** A machine that deploys the same image. */
export const Neighbour = z.object({
  id: z.string().regex(/^[0-9a-f]{16}$/),
  url: z.url({ protocol: /^https$/ }),
  certificate_sha256: sha256,
});
export type Neighbour = z.infer<typeof Neighbour>;

/** Content of a ticket: who may fetch, from whom, until when. Signed by the conductor. */
export const Ticket = Neighbour.extend({
  /** Image, project and network in one digest: machines with the same serve each other. */
  group: sha256,
  /** Milliseconds since 1970. */
  expires: z.int().positive(),
});
export type Ticket = z.infer<typeof Ticket>;

export const NeighboursAnswer = z.object({
  ticket: z.string().max(4096),
  /** The conductors' public key, PEM: tickets are verified with it. */
  public_key: z.string().max(1024),
  neighbours: z.array(Neighbour).max(64),
  /** When the agent is to ask again. */
  next_ms: z.int().min(1000).max(3_600_000),
});
export type NeighboursAnswer = z.infer<typeof NeighboursAnswer>;
