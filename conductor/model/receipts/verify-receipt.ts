import { z } from 'zod';
import { openEnvelope } from '#conductor/model/receipts/envelope.ts';
import type { PublicKey } from '#conductor/model/receipts/key-text.ts';
import { receiptKind, receiptVersion, WipeReceipt } from '#conductor/model/receipts/receipt-fields.ts';
import { AppError } from '#shared/errors/app-error.ts';

const Header = z.object({ kind: z.string(), version: z.number() });

/**
 * What a receipt says, once one of the keys is known to have signed it. Needs nothing but its arguments.
 * @throws AppError `invalid_argument` saying which of both is not so.
 */
export function verifyReceipt(
  text: string,
  keys: readonly PublicKey[],
): { readonly receipt: WipeReceipt; readonly fingerprint: string } {
  const { payload, fingerprint } = openEnvelope(
    text,
    keys.map(({ key }) => key),
  );
  const receipt = parseReceipt(payload.toString('utf8'));
  requireUnretiredKey(receipt, fingerprint, keys);
  return { receipt, fingerprint };
}

/** A conductor signs nothing with a key that it has retired: somebody else has it. */
function requireUnretiredKey({ times }: WipeReceipt, fingerprint: string, keys: readonly PublicKey[]): void {
  const retired = keys.flatMap((key) => (key.fingerprint === fingerprint ? (key.retiredAt ?? []) : []));
  const [first] = retired.sort((a, b) => a.getTime() - b.getTime());
  if (first === undefined || Date.parse(times.signed) <= first.getTime()) return;
  throw new AppError(
    'invalid_argument',
    `it says that it was signed at ${times.signed}, by a key that was retired at ${first.toISOString()}: no conductor has ` +
      'signed it',
  );
}

/** @throws AppError `invalid_argument` for one that this Baton can't read: guessing would be worse than nothing. */
export function parseReceipt(payload: string): WipeReceipt {
  const document = readPayload(payload);
  const header = Header.safeParse(document);
  if (!header.success)
    throw new AppError('invalid_argument', 'the signed content has no kind and version: it is not a receipt');
  const { kind, version } = header.data;
  if (kind !== receiptKind || version !== receiptVersion) {
    throw new AppError(
      'invalid_argument',
      `it is a ${kind} of version ${version}, and this Baton reads ${receiptKind} of version ${receiptVersion}: use the ` +
        'Baton that has signed it, or a newer one',
    );
  }
  const parsed = WipeReceipt.safeParse(document);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new AppError(
    'invalid_argument',
    `the signed content is not a ${kind} of version ${version}: ${fields.join('; ')}`,
  );
}

function readPayload(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch (cause) {
    throw new AppError('invalid_argument', 'the signed content is not JSON: it is not a receipt', { cause });
  }
}
