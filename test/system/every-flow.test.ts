import { expect, test } from 'vitest';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import { flowContract } from '#test/system/every-flow.contract.ts';
import { someFlows } from '#test/system/some-flows.ts';

/**
 * Every kind of flow but those of `some-flows.test.ts`. A wipe has more to keep to, after the release of an instance:
 * `every-flow-wipe.test.ts`.
 */
const elsewhere: readonly FlowKindName[] = [...someFlows, 'wipe'];
const kinds = (Object.keys(flowKinds) as FlowKindName[]).filter((kind) => !elsewhere.includes(kind));

test('there are kinds', () => {
  expect(kinds.length).toBeGreaterThan(8);
});

flowContract('everyman', '52:54:00:00:03:01', kinds);
