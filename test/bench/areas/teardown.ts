import type { Area } from '#test/bench/area.ts';
import { measureDrain } from '#test/bench/areas/teardown-drain.ts';
import { measureEtcdRemovals } from '#test/bench/areas/teardown-etcd.ts';
import { measureRolling } from '#test/bench/areas/teardown-rolling.ts';

/** Taking nodes out of the clusters that they are part of. */
export const teardownArea: Area = {
  name: 'teardown',
  measure: async (context) => ({
    ...(await measureDrain(context)),
    ...(await measureRolling(context)),
    ...(await measureEtcdRemovals(context)),
  }),
};
