import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { stepLists } from '#conductor/http/nodes/step-lists.ts';

const Body = z.strictObject(stepLists);
const wipe = { interface: 'deploy', step: 'wipe' } as const;

function faults(clean_steps: unknown): string[] {
  const issues = Body.safeParse({ clean_steps }).error?.issues ?? [];
  return issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
}

describe('steps of a cleaning', () => {
  test.each([
    [{}],
    [{ order: 1 }],
    [{ order: null }],
    [{ execute_on_child_nodes: false }],
    [{ execute_on_child_nodes: null, limit_child_node_execution: null }],
    [{ limit_child_node_execution: [] }],
  ])('may carry what Ironic’s clients send: %j', (more) => {
    expect(Body.parse({ clean_steps: [{ ...wipe, ...more }] }).clean_steps).toEqual([{ ...wipe, args: {} }]);
  });

  test.each([
    [{ execute_on_child_nodes: true }, 'execute_on_child_nodes: must be false or absent: steps on the children'],
    [{ limit_child_node_execution: ['uuid'] }, 'limit_child_node_execution: must be false or absent: steps on the'],
    [{ order: -1 }, 'order'],
    [{ priority: 5 }, 'Unrecognized key: "priority"'],
  ])('are refused with %j', (more, fault) => {
    expect(faults([{ ...wipe, ...more }]).join()).toContain(fault);
  });

  test('run in the order of the list, so no other is accepted', () => {
    const at = (order: number) => ({ ...wipe, order });
    expect(faults([at(1), wipe, at(2)])).toEqual([]);
    expect(faults([at(2), at(1)])).toEqual([
      'clean_steps: the steps run in the order of the list, so that order (2, 1) must not fall',
    ]);
  });
});
