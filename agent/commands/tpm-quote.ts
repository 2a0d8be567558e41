import { z } from 'zod';
import { defineCommand } from '#agent/commands/command.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Ours: the machine's TPM signs its PCRs with a hash of the conductor's, by the key that has attested this boot. */
export const tpmQuote = defineCommand({
  kind: 'sync',
  params: z.strictObject({ nonce: z.string().regex(/^[0-9a-f]{64}$/, { error: 'must be 64 hex digits' }) }),
  run: ({ quote }, { nonce }) => {
    if (!quote) throw new AppError('not_supported', 'this agent has no TPM to ask');
    return quote(Buffer.from(nonce, 'hex'));
  },
});
