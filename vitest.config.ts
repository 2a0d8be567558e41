import { defineConfig } from 'vitest/config';

/** Two projects: `unit` needs nothing but Node; `system` needs root and the lab's packages and images (`npm test` sets both up). */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{shared,agent,conductor,image-build,test}/**/*.test.ts'],
          exclude: ['test/{system,vm}/**', '**/node_modules/**'],
          testTimeout: 30_000,
          hookTimeout: 60_000,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'system',
          include: ['test/{system,vm}/**/*.test.ts'],
          testTimeout: 900_000,
          hookTimeout: 900_000,
          maxWorkers: 2,
        },
      },
    ],
  },
});
