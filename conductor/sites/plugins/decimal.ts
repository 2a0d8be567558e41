/** A decimal number, exact: floats would take 0.1 and 0.10000000000000000001 for one. */
export interface Decimal {
  readonly sign: -1 | 0 | 1;
  /** Without leading zeros. */
  readonly whole: string;
  /** Without trailing zeros. */
  readonly fraction: string;
}

/** Sign, digits, and a point with digits after it, before which there may be none; `undefined` for all else. */
export function parseDecimal(text: string): Decimal | undefined {
  const found = /^([+-]?)(\d+(?=\.\d|$)|(?=\.\d))(?:\.(\d+))?$/.exec(text);
  if (!found) return undefined;
  const whole = (found[2] ?? '').replace(/^0+/, '');
  const fraction = (found[3] ?? '').replace(/0+$/, '');
  const isZero = whole === '' && fraction === '';
  return { sign: isZero ? 0 : found[1] === '-' ? -1 : 1, whole, fraction };
}

/** Negative when `a` is lower. */
export function compareDecimals(a: Decimal, b: Decimal): number {
  if (a.sign !== b.sign) return a.sign - b.sign;
  return (
    a.sign * (a.whole.length - b.whole.length || compareText(a.whole, b.whole) || compareText(a.fraction, b.fraction))
  );
}

/** By code point, which is the order of UTF-8's bytes; of two fractions, the longer one is the higher. */
export function compareText(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
