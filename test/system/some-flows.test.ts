import { flowContract } from '#test/system/every-flow.contract.ts';
import { someFlows } from '#test/system/some-flows.ts';

/** The kinds of flow that `npm test` strikes wherever they can be struck; the others are `every-flow.test.ts`'s. */
flowContract('someone', '52:54:00:00:03:03', someFlows);
