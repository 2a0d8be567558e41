import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { AgentStep } from '#agent/context.ts';
import { activateHardware, hardwareVersions, versionsMatch } from '#agent/hardware/active-hardware.ts';
import { hardwareSupport } from '#agent/hardware/hardware-manager.ts';
import { advertisedSteps, stepCandidates } from '#agent/hardware/select-steps.ts';
import { fakeHardware } from '#agent/testing/fake-services.ts';
import { defineStep } from '#shared/steps/define-step.ts';

function step(name: string, priority = 0, onInterface: AgentStep['interface'] = 'deploy'): AgentStep {
  return defineStep({
    interface: onInterface,
    step: name,
    priorities: { deploy: priority, clean: priority, service: priority },
    destroys: 'none',
    description: name,
    args: z.strictObject({}),
    run: () => Promise.resolve({ kind: 'done' }),
  });
}

function named(className: string, steps: readonly AgentStep[], support: 1 | 2 | 3) {
  return fakeHardware(steps, { className, name: className.toLowerCase() }, support);
}

const names = (lists: ReturnType<typeof advertisedSteps>) =>
  Object.fromEntries(Object.entries(lists).map(([owner, steps]) => [owner, steps.map((each) => each.step)]));

describe('advertisedSteps', () => {
  test('of one interface and name, the best support wins, whatever the priority says', () => {
    const hardware = [
      named('Vendor', [step('flash'), step('write_image', 5)], hardwareSupport.serviceProvider),
      named('Generic', [step('write_image', 90), step('erase')], hardwareSupport.generic),
    ];
    expect(names(advertisedSteps(hardware, 'deploy'))).toEqual({
      Vendor: ['flash', 'write_image'],
      Generic: ['erase'],
    });
  });

  test('steps of one name on two interfaces are two steps', () => {
    const both = [step('apply_configuration', 0, 'raid'), step('apply_configuration', 0, 'bios')];
    expect(advertisedSteps([named('A', both, 1)], 'deploy')['A']?.map((each) => each.interface)).toEqual([
      'raid',
      'bios',
    ]);
  });

  test('of equal support the higher priority wins, then the class name', () => {
    const hardware = [
      named('B', [step('x', 10), step('y', 1)], hardwareSupport.mainline),
      named('A', [step('x', 10), step('y', 2)], hardwareSupport.mainline),
      named('C', [step('x', 10), step('y', 3)], hardwareSupport.mainline),
    ];
    expect(names(advertisedSteps(hardware, 'clean'))).toEqual({ A: ['x'], B: [], C: ['y'] });
  });

  test('only clean and service steps tell whether they can be aborted', () => {
    const hardware = [named('A', [step('x', 7)], hardwareSupport.generic)];
    expect(advertisedSteps(hardware, 'deploy')).toEqual({
      A: [{ step: 'x', priority: 7, interface: 'deploy', reboot_requested: false, baton_destroys: 'none' }],
    });
    expect(advertisedSteps(hardware, 'service')['A']?.[0]).toHaveProperty('abortable', false);
  });

  test.each([0, 3600])('how long a step must not lose power is told where it says so: %s s', (seconds) => {
    const hardware = [named('A', [{ ...step('x', 7), mustNotLosePower: seconds }], hardwareSupport.generic)];
    expect(advertisedSteps(hardware, 'clean')['A']).toMatchObject([{ baton_must_not_lose_power: seconds }]);
  });
});

describe('stepCandidates', () => {
  test('name and interface must fit; without an interface the name is enough', () => {
    const hardware = [named('A', [step('x', 0, 'raid')], 2), named('B', [step('x')], 1)];
    const find = (onInterface: string | undefined) =>
      stepCandidates(hardware, 'deploy', { interface: onInterface, step: 'x' }).map((each) => each.interface);
    expect(find('raid')).toEqual(['raid']);
    expect(find('deploy')).toEqual(['deploy']);
    expect(find(undefined)).toEqual(['raid', 'deploy']);
    expect(find('bios')).toEqual([]);
  });
});

describe('activateHardware', () => {
  test('keeps the managers that know the machine, best first', async () => {
    const managers = [
      named('Generic', [], 1).manager,
      { ...named('Other', [], 2).manager, evaluateSupport: () => Promise.resolve(hardwareSupport.none) },
      named('Zeta', [], 3).manager,
      named('Alpha', [], 3).manager,
    ];
    const active = await activateHardware(managers);
    expect(active.map(({ manager }) => manager.className)).toEqual(['Alpha', 'Zeta', 'Generic']);
    expect(hardwareVersions(active)).toEqual({ alpha: '1', zeta: '1', generic: '1' });
  });

  test('a machine that nobody knows is an error', async () => {
    await expect(activateHardware([])).rejects.toMatchObject({ code: 'not_supported' });
  });
});

describe('versionsMatch', () => {
  const hardware = [named('A', [], 1)];
  test.each([
    [null, true],
    [undefined, true],
    [{ a: '1' }, true],
    [{ a: '2' }, false],
    [{}, false],
    [{ a: '1', b: '1' }, false],
  ])('%j → %s', (planned, matches) => expect(versionsMatch(hardware, planned)).toBe(matches));
});
