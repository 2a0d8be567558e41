import { expect, test } from 'vitest';
import { predictSeconds } from '#conductor/flows/log/step-durations.ts';
import { planSteps } from '#conductor/flows/plan/plan-steps.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import { plannedAdvertised, stepKey } from '#conductor/model/flows/planned-step.ts';

const plan = planSteps(flowKinds.manual_clean, {
  requested: ['hold', 'wait'].map((step) => ({ interface: 'deploy', step, priority: 0, args: {} })),
});

test('others’ rests predict nothing', () => {
  const typical = new Map(plan.map((step) => [stepKey(step), 10]));
  expect(predictSeconds(plan, typical)).toEqual({ total: (plan.length - 2) * 10, each: [10, null, null, 10, 10] });
});

test('a step that has never run has no time, and leaves the whole without', () => {
  expect(predictSeconds(plan, new Map([['deploy.boot_ramdisk', 5]]))).toEqual({
    total: null,
    each: [5, null, null, null, null],
  });
});

test('an agent’s step may be called like a rest', () => {
  const own = plannedAdvertised({ interface: 'deploy', step: 'wait', priority: 90, reboot_requested: false }, true);
  expect(predictSeconds([own], new Map([['deploy.wait', 7]]))).toEqual({ total: 7, each: [7] });
});
