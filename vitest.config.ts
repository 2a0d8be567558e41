import { defineConfig } from 'vitest/config';
import { LongestFirstSequencer } from './test/set-up/longest-first.ts';

/** As long as a machine may take that has other work to do as well; what comes true at once is seen at once. */
const poll = { timeout: 60_000 };

/** Of a test of machines, three of which may run beside others on a machine that is three times slower than on a good day. */
const patienceMs = 50 * 60_000;

/** One more than cores: a test of machines waits for its BMCs and conductors, one of conductors for heartbeats. */
const maxWorkers = 3;

/**
 * `unit` needs nothing but Node; `system` needs root and the lab's packages and images (`npm test` sets both up);
 * `interop` also a mirror with Debian 13, for the real counterparts.
 */
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirstSequencer },
    projects: [
      {
        test: {
          name: 'unit',
          globalSetup: 'test/set-up/test-database.ts',
          include: ['{shared,agent,conductor,image-build,test}/**/*.test.ts'],
          exclude: ['test/{system,vm,interop}/**', '**/node_modules/**'],
          testTimeout: 30_000,
          expect: { poll: { timeout: 25_000 } }, // before the test's own, which would not say what was waited for
          hookTimeout: 60_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'system',
          globalSetup: 'test/set-up/test-database.ts',
          include: ['test/{system,vm}/**/*.test.ts'],
          testTimeout: patienceMs,
          expect: { poll },
          hookTimeout: patienceMs,
          maxWorkers,
        },
      },
      {
        test: {
          name: 'interop',
          globalSetup: 'test/set-up/test-database.ts',
          include: ['test/interop/**/*.test.ts'],
          testTimeout: patienceMs,
          expect: { poll },
          hookTimeout: patienceMs,
          maxWorkers,
        },
      },
    ],
  },
});
