import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { LongestFirstSequencer } from './test/set-up/longest-first.ts';
import { type TestSet, testSets } from './test/set-up/test-sets.ts';
import { TimesReporter } from './test/set-up/times-reporter.ts';

const filesOf = ({ include, exclude = [] }: (typeof testSets)[TestSet]) => ({
  include: [...include],
  exclude: [...exclude],
});

/** Settings that every set of tests has; no limit here is a measure of anything: each is for what would never end. */
const common = {
  setupFiles: 'test/set-up/measure-file.ts',
  /** One more than cores: a test of machines waits for its BMCs and conductors, one of conductors for heartbeats. */
  maxWorkers: 3,
  /** Time that a machine may take that has other work to do as well; what comes true at once is seen at once. */
  expect: { poll: { timeout: 4 * 60_000 } },
};

const system = {
  ...common,
  /**
   * Time of a test of machines, three of which may run beside others on a machine that is three times slower than on a
   * good day.
   */
  testTimeout: 50 * 60_000,
  hookTimeout: 50 * 60_000,
  /** Hundreds of conductors and commands start here: what one of them has compiled the next need not. */
  env: { NODE_COMPILE_CACHE: resolve('build/compile-cache') },
};

/**
 * `npm test` is `unit` and `core`; `npm run test:all` is everything. `unit` needs nothing but Node; `core` and `rest` need
 * root and the lab's packages and images, which those commands set up; `interop` also a mirror with Debian 13, for the
 * real counterparts.
 */
export default defineConfig({
  test: {
    reporters: ['default', ['json', { outputFile: 'build/test-report.json' }], new TimesReporter()],
    sequence: { sequencer: LongestFirstSequencer },
    globalSetup: 'test/set-up/test-database.ts',
    projects: [
      {
        test: {
          ...common,
          name: 'unit',
          ...filesOf(testSets.unit),
          testTimeout: 5 * 60_000, // more than a poll's, which says what it waited for
          hookTimeout: 5 * 60_000,
        },
      },
      { test: { ...system, name: 'core', ...filesOf(testSets.core) } },
      { test: { ...system, name: 'rest', ...filesOf(testSets.rest) } },
      { test: { ...system, name: 'interop', ...filesOf(testSets.interop) } },
    ],
  },
});
