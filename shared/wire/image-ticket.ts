import { type KeyObject, sign, verify } from 'node:crypto';
import { Ticket } from '#shared/wire/neighbours.ts';

/** `<claims>.<Ed25519 signature>`, both base64url: it goes into a header. */
export function signTicket(ticket: Ticket, key: KeyObject): string {
  const claims = Buffer.from(JSON.stringify(ticket)).toString('base64url');
  return `${claims}.${sign(null, Buffer.from(claims), key).toString('base64url')}`;
}

/** The ticket, if the key signed it and it has not expired; by its text alone, nobody is asked. */
export function openTicket(text: string, key: KeyObject, now: Date): Ticket | undefined {
  const [claims = '', signature = '', ...more] = text.split('.');
  if (more.length > 0 || !verify(null, Buffer.from(claims), key, Buffer.from(signature, 'base64url'))) return undefined;
  // signed: the conductor made it
  const ticket = Ticket.safeParse(JSON.parse(Buffer.from(claims, 'base64url').toString()));
  return ticket.success && ticket.data.expires > now.getTime() ? ticket.data : undefined;
}
