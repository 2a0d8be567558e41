import { coreTests } from './core-tests.ts';

/** The names of vitest's projects. */
export type TestSet = 'unit' | 'core' | 'rest' | 'interop';

interface Files {
  readonly include: readonly string[];
  readonly exclude?: readonly string[];
}

const core = coreTests.map(({ file }) => `test/${file}`);

/** Which files each set has: every file of tests is in one of them, and in no other. */
export const testSets: Readonly<Record<TestSet, Files>> = {
  unit: {
    include: ['{shared,agent,conductor,image-build,test}/**/*.test.ts'],
    exclude: ['test/{system,vm,interop}/**', '**/node_modules/**'],
  },
  core: { include: core },
  rest: { include: ['test/{system,vm}/**/*.test.ts'], exclude: core },
  interop: { include: ['test/interop/**/*.test.ts'] },
};
