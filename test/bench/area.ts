/** One measured figure; `ratio` is against `baseline`, measured in the same run, and above 1 where we are better. */
export interface Figure {
  readonly value: number;
  readonly unit: string;
  readonly baseline?: number;
  readonly ratio?: number;
}

export interface BenchContext {
  /** For files that may stay: `build/bench`. */
  readonly folder: string;
  /** One line for the person who watches; stdout is for the result alone. */
  readonly say: (line: string) => void;
}

/** A part of Baton that is measured alone: `npm run bench -- write_image`. */
export interface Area {
  readonly name: string;
  /** Figures by name; printed as `area.name`, or as they stand with a dot in them. Cleans up after itself, whatever happens. */
  measure(context: BenchContext): Promise<Readonly<Record<string, Figure>>>;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

/** @throws Error for no values: then nothing was measured */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  if (value === undefined) throw new Error('nothing was measured');
  return value;
}

export function round(value: number, digits = 1): number {
  return Number(value.toFixed(digits));
}
