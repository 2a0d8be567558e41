import { limitReports, sourceKey } from '#conductor/auth/failure-limit.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { noteRefusal } from '#conductor/nodes/boot/note-refusal.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Makes the report of machines that don't accept the API's TLS, a few times a minute for each address. The machine's boot
 * gets it, if the address is that of one; in the log it is always.
 */
export function reportHandshakes(
  context: Pick<HttpContext, 'clock' | 'config' | 'db' | 'log'>,
): (address: string) => void {
  const { clock, log } = context;
  const mayReport = limitReports(() => clock.now().getTime());
  return (address) => {
    if (!mayReport(sourceKey(address))) return;
    log.info({ address }, 'a client ends its TLS connections without a request');
    const advice =
      "It most likely doesn't trust the API's certificate: look at the authority in its ramdisk " +
      "(BATON_AGENT_VERIFIES_TLS), at the names and dates of BATON_TLS_CERT_FILE, and at the machine's clock.";
    const message = `The machine ends its connections from ${address} before it asks anything.`;
    void noteRefusal(context, { address }, 'TLS', new AppError('forbidden', message, { details: { advice } }));
  };
}
