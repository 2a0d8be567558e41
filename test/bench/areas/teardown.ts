import type { Area } from '#test/bench/area.ts';
import { measureDrain } from '#test/bench/areas/teardown-drain.ts';

/** Taking nodes out of the clusters that they are part of. */
export const teardownArea: Area = {
  name: 'teardown',
  measure: async (context) => ({ ...(await measureDrain(context)) }),
};
