import { expect, test } from 'vitest';
import { isHeld } from '#conductor/flows/engine/hold-flow.ts';
import type { FlowRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';

const node = (maintenance: boolean, fault: string | null = null) => ({ maintenance, fault }) as NodeRow;
const flow = (kind: FlowRow['kind'], state: FlowRow['state'] = 'running') => ({ kind, state }) as FlowRow;

test.each([
  ['a deploy without maintenance', flow('deploy'), node(false), false],
  ['a deploy in maintenance', flow('deploy'), node(true), true],
  ['a teardown that was asked for in it', flow('teardown'), node(true), false],
  ['what makes a node safe', flow('deploy', 'aborting'), node(true, 'clean failure'), false],
  ['a teardown after a restore', flow('teardown'), node(true, 'restored'), true],
  ['what made a node safe before a restore', flow('deploy', 'aborting'), node(true, 'restored'), true],
  ['all of it once a person has ended the maintenance', flow('teardown'), node(false), false],
])('%s', (_what, each, of, holds) => {
  expect(isHeld({ flow: each, node: of })).toBe(holds);
});
