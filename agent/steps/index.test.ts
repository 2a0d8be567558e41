import { expect, test } from 'vitest';
import { hardwareManagers } from '#agent/hardware/active-hardware.ts';
import { steps } from '#agent/steps/index.ts';
import { stepKinds } from '#shared/wire/step.ts';

test('no manager offers a step twice in a kind of flow', () => {
  for (const manager of hardwareManagers) {
    for (const kind of stepKinds) {
      const offered = manager.steps.filter((step) => step.priorities[kind] !== undefined);
      const names = offered.map((step) => `${step.interface}.${step.step}`);
      expect(names).toEqual([...new Set(names)]);
    }
  }
});

test("steps say of themselves what Ironic's conductor goes by", () => {
  const named = (interfaceName: string, step: string) =>
    steps.find((each) => each.interface === interfaceName && each.step === step);
  expect(named('bios', 'factory_reset')?.rebootRequested).toBe(true);
  expect(named('raid', 'create_configuration')?.abortable).toBe(true);
  expect(named('raid', 'delete_configuration')?.abortable).toBe(true);
});

test("burnin_gpu of Ironic's agent, which always fails here, is not offered", () => {
  expect(steps.map(({ step }) => step).filter((step) => step.startsWith('burnin_'))).not.toContain('burnin_gpu');
  expect(steps.map(({ step }) => step)).toContain('burnin_cpu');
});
