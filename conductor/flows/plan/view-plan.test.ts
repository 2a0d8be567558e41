import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { biosApplyConfiguration } from '#conductor/flows/driver-steps/bios.ts';
import { planSteps } from '#conductor/flows/plan/plan-steps.ts';
import { planWarnings } from '#conductor/flows/plan/view-plan.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import type { OfferedDriverStep, PlanFacts } from '#conductor/model/flows/planned-step.ts';
import type { UnusedRamdisk } from '#conductor/nodes/boot/ramdisk-boot.ts';

const bios: OfferedDriverStep = {
  interface: 'bios',
  step: 'apply_configuration',
  priority: 0,
  abortable: false,
  args: biosApplyConfiguration.args,
};
const setBios = (priority: number) => ({
  interface: 'bios',
  step: 'apply_configuration',
  priority,
  args: { settings: [{ name: 'NumCores', value: '4' }] },
});
const core = (step: string, priority = 0) => ({ interface: 'deploy', step, priority, args: {} });

function warnings(
  kind: FlowKindName,
  facts: Partial<PlanFacts>,
  isFastTracked = false,
  unusedRamdisk: UnusedRamdisk = { keys: [] },
  boot: { readonly refusedBoot?: string; readonly refusedLater?: string } = {},
): string {
  const all = { requested: [], drivers: [bios], ...facts };
  const plan = {
    steps: planSteps(flowKinds[kind], all),
    isComplete: all.advertised !== undefined,
    inventoriedAt: new Date(0),
    destroys: { disks: [], protection: [], warnings: [] },
    facts: all,
  };
  return planWarnings(plan, { kind }, { isFastTracked, unusedRamdisk, ...boot }).join('\n');
}

describe('steps that are done before the ramdisk boots', () => {
  const early = /bios\.apply_configuration: done before the ramdisk boots.*outside 41 to 99.*fails with these done/;

  test('are warned of as long as the agent’s list may be another, or is unknown', () => {
    const requested = [setBios(110)];
    expect(warnings('deploy', { requested, advertised: [], isStale: true })).toMatch(early);
    expect(warnings('deploy', { requested, isStale: true })).toMatch(early);
  });

  test('others are not', () => {
    expect(warnings('deploy', { requested: [setBios(110)], advertised: [], isStale: false })).not.toMatch(early);
    expect(warnings('deploy', { requested: [setBios(85)], isStale: true })).not.toMatch(early);
    expect(warnings('deploy', { requested: [setBios(110)], isStale: true, withoutAgent: 'a volume' })).not.toMatch(
      early,
    );
    expect(warnings('manual_clean', { requested: [setBios(0)], isStale: true })).not.toMatch(early);
  });
});

test('fast track says which reboot may not be', () => {
  expect(warnings('deploy', {}, true)).toContain(
    'Fast track: where the ramdisk of an earlier flow still runs, deploy.deploy',
  );
  expect(warnings('clean', {}, true)).toContain('deploy.boot_ramdisk boots nothing');
  expect(warnings('clean', {})).not.toContain('Fast track');
  expect(warnings('teardown', {}, true)).not.toContain('Fast track');
  expect(warnings('deploy', { withoutAgent: 'a volume' }, true)).not.toContain('Fast track');
});

test('a ramdisk that the node names and that is not booted is named', () => {
  const unused = { keys: ['deploy_kernel', 'deploy_ramdisk'] };
  expect(warnings('deploy', {}, false, unused)).toContain('driver_info.deploy_kernel, deploy_ramdisk: not booted');
  expect(warnings('deploy', {}, false, { ...unused, fault: 'no URL' })).toContain("Baton's own ramdisk (no URL).");
  expect(warnings('deploy', {}, false, { ...unused, fault: 'no URL', isRefused: true })).toContain(
    'No ramdisk is booted: no URL.',
  );
  expect(warnings('deploy', { withoutAgent: 'a volume' }, false, unused)).not.toContain('not booted');
  expect(warnings('deploy', {})).not.toContain('not booted');
});

test('rests are said not to be counted', () => {
  const requested = [core('hold'), core('wait'), core('hold')];
  expect(warnings('manual_clean', { requested })).toContain(
    'The time that deploy.hold, deploy.wait takes is not included.',
  );
});

test('a step that resets the machine after the instance was booted is warned of', () => {
  expect(warnings('deploy', { requested: [setBios(10)], advertised: [] })).toMatch(
    /bios\.apply_configuration: comes after deploy\.boot_instance and resets the machine/,
  );
  expect(warnings('deploy', { requested: [setBios(30)], advertised: [] })).not.toContain('comes after');
});

test('a priority that is set for no step is named once the steps are known', () => {
  const priorities = new Map([
    ['deploy.erase_device', 10],
    ['bios.apply_configuration', 0],
  ]);
  const warning = "BATON_CLEAN_STEP_PRIORITIES: this node's agent and driver have no step deploy.erase_device.";
  expect(warnings('clean', { priorities, advertised: [] })).toContain(warning);
  expect(warnings('clean', { priorities })).not.toContain('BATON_CLEAN_STEP_PRIORITIES');
  expect(warnings('clean', { priorities: new Map([['bios.apply_configuration', 0]]), advertised: [] })).not.toContain(
    'BATON_CLEAN_STEP_PRIORITIES',
  );
});

describe('a boot that the firmware refuses', () => {
  const refused = (kind: FlowKindName, facts: Partial<PlanFacts>, refusedBoot?: string) =>
    warnings(kind, facts, false, undefined, { ...(refusedBoot ? { refusedBoot } : {}), refusedLater: 'refused later' });
  const management = { ...bios, interface: 'management', step: 'secure_boot' } as const;
  const withStep = (on: boolean): Partial<PlanFacts> => ({
    drivers: [{ ...management, args: z.strictObject({ secure_boot: z.boolean() }) }],
    requested: [{ interface: 'management', step: 'secure_boot', priority: 0, args: { secure_boot: on } }],
  });

  test('is warned of where the ramdisk is booted', () => {
    expect(refused('deploy', {}, 'refused now')).toContain('refused now.');
    expect(refused('deploy', {})).not.toContain('refused');
    expect(refused('deploy', { withoutAgent: 'a volume' }, 'refused now')).not.toContain('refused');
  });

  test('is warned of before a step makes it so, and not where the step ends it', () => {
    expect(refused('manual_clean', withStep(true))).toContain('management.secure_boot: from then on refused later.');
    expect(refused('manual_clean', withStep(false), 'refused now')).not.toContain('refused');
  });
});
