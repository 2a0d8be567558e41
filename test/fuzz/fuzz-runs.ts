/**
 * How many runs, and from which seed. `npm test` has always the same few; `FUZZ_TIMES` multiplies them, from another seed
 * each time or from `FUZZ_SEED`. A failure prints the seed and the smallest case.
 */
export function fuzzRuns(runs: number): { readonly numRuns: number; readonly seed: number } {
  const { FUZZ_TIMES: times, FUZZ_SEED: given } = process.env;
  const seed = given ?? (times === undefined ? '1' : String(Date.now() % 2 ** 31));
  return { numRuns: runs * Number(times ?? '1'), seed: Number(seed) };
}

/** A line of what `npm run fuzz` has done; `npm test` says nothing of what passes. */
export function reportFuzz(line: string): void {
  if (process.env['FUZZ_TIMES'] !== undefined) process.stderr.write(`fuzz: ${line}\n`);
}
