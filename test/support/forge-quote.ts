import type { QuoteEvidence } from '#conductor/model/tpm/verify-quote.ts';
import type { Draw } from '#test/support/draw.ts';

/**
 * Forges a quote: one to three changes of its statement, its signature or its values, such as bits, bytes, lengths, pieces
 * cut, added, doubled or taken from another place. Never the same as what it is made of.
 */
export function forgeQuote({ quote, signature, pcrValues }: QuoteEvidence, draw: Draw): QuoteEvidence {
  const pick = (count: number): number => draw.number(count);
  const forged = { quote: Buffer.from(quote), signature: Buffer.from(signature), pcrValues: new Map(pcrValues) };
  const isSame = (): boolean =>
    forged.quote.equals(quote) &&
    forged.signature.equals(signature) &&
    [...pcrValues].every(([pcr, value]) => forged.pcrValues.get(pcr) === value);
  let changes = 1 + pick(3);
  while (changes > 0 || isSame()) {
    const part = pick(5);
    if (part === 0) {
      const pcr = [...pcrValues.keys()][pick(pcrValues.size)] ?? 0;
      const value = Buffer.from(pcrValues.get(pcr) ?? '', 'hex');
      forged.pcrValues.set(pcr, change(value, pick).subarray(0, 32).toString('hex'));
    } else if (part <= 2) forged.quote = change(forged.quote, pick);
    else forged.signature = change(forged.signature, pick);
    changes -= 1;
  }
  return forged;
}

/** Changes bytes in one of the ways in which structures are attacked. */
function change(bytes: Buffer, pick: (count: number) => number): Buffer<ArrayBuffer> {
  const copy = Buffer.from(bytes);
  const at = pick(copy.length + 1);
  const length = 1 + pick(8);
  switch (pick(6)) {
    case 0:
      if (at < copy.length) copy[at] = (copy[at] ?? 0) ^ (1 << pick(8));
      return copy;
    case 1:
      if (at < copy.length) copy[at] = [0, 1, 0x7f, 0x80, 0xff][pick(5)] ?? 0;
      return copy;
    case 2:
      return Buffer.concat([copy.subarray(0, at), copy.subarray(at + length)]);
    case 3:
      return Buffer.concat([copy.subarray(0, at), Buffer.alloc(length, pick(256)), copy.subarray(at)]);
    case 4:
      return Buffer.concat([copy.subarray(0, at), copy.subarray(pick(copy.length + 1))]);
    default:
      return Buffer.from(copy.subarray(0, at));
  }
}
