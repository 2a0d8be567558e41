import { expect, test } from 'vitest';
import { requiredBoot } from '#conductor/boot/required-boot.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import { nextProvisionState } from '#conductor/model/provision-states.ts';

test('a machine that boots a ramdisk boots it in the working state too: the BMC may confirm power long after the machine asks', () => {
  const states = ['inspecting', 'cleaning', 'deploying', 'servicing', 'rescuing'] as const;
  for (const provisionState of states) {
    expect([provisionState, requiredBoot({ provisionState, currentStep: 'deploy.boot_ramdisk' })]).toEqual([
      provisionState,
      'ramdisk',
    ]);
    const waiting = nextProvisionState(provisionState, 'wait');
    expect(waiting && requiredBoot({ provisionState: waiting, currentStep: undefined })).toBe('ramdisk');
  }
  const booting = Object.values(flowKinds).filter((kind) => kind.inBand);
  expect(booting.length).toBeGreaterThan(3);
});

test('an instance is not a ramdisk, even while the flow that boots it has not ended', () => {
  for (const provisionState of ['deploying', 'servicing', 'unrescuing'] as const) {
    expect(requiredBoot({ provisionState, currentStep: 'deploy.boot_instance' })).toBe('local disk');
  }
  expect(requiredBoot({ provisionState: 'active', currentStep: undefined })).toBe('local disk');
});
