import { configureGlobal } from 'fast-check';
import { fuzzRuns } from '#test/fuzz/fuzz-runs.ts';

/** fast-check that tries the same cases in each `npm test`, so that one which passed once passes always; others with `FUZZ_TIMES`. */
configureGlobal(fuzzRuns(100));

export * from 'fast-check';
