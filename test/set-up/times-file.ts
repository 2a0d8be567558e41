/** Where a run of tests leaves how long each file took. */
export const timesFile = 'build/test-times.json';
