import { expect, test } from 'vitest';
import { lookAtInstance } from '#conductor/flows/log/left-running.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';

type Steps = Parameters<typeof lookAtInstance>[1];

/** `deploy.boot_ramdisk succeeded`, `bios.factory_reset begun skipped`; the uuid is the step's name. */
function stepsOf(...texts: readonly string[]): Steps {
  return texts.map((text) => {
    const words = text.split(' ');
    const [kind, step = ''] = (words[0] ?? '').split('.');
    const startedAt = words.includes('begun') ? new Date(0) : null;
    return { uuid: step, interface: kind, step, state: words.at(-1), startedAt };
  }) as unknown as Steps;
}

const booted = 'deploy.boot_ramdisk succeeded';
const sensors = 'management.get_sensors failed';
const flash = 'firmware.update failed';
const asItWas = { isAsItWas: true, hasOnlyBooted: false };
const onlyBooted = { isAsItWas: false, hasOnlyBooted: true };
const changed = { isAsItWas: false, hasOnlyBooted: false };

test.each<[string, FlowKindName, Steps, string | undefined, object]>([
  [
    'none of its steps',
    'service',
    stepsOf('deploy.boot_ramdisk skipped', 'firmware.update skipped'),
    undefined,
    asItWas,
  ],
  ['steps that read', 'service', stepsOf(sensors), undefined, asItWas],
  ['a step that was refused', 'service', stepsOf(flash), 'update', asItWas],
  ['a step that may have acted', 'service', stepsOf(flash), undefined, changed],
  [
    'a plan that was refused in the ramdisk',
    'service',
    stepsOf('deploy.boot_ramdisk failed'),
    'boot_ramdisk',
    onlyBooted,
  ],
  ['a boot that has failed', 'service', stepsOf('deploy.boot_ramdisk failed'), undefined, changed],
  ['a boot that runs still', 'service', stepsOf('deploy.boot_ramdisk waiting'), undefined, changed],
  ['a boot and a step that was refused', 'service', stepsOf(booted, flash), 'update', onlyBooted],
  ['a boot, and no more', 'service', stepsOf(booted, 'firmware.update skipped'), undefined, onlyBooted],
  ['a boot and a step that may have acted', 'service', stepsOf(booted, flash), undefined, changed],
  [
    'a refused step after one that has acted',
    'service',
    stepsOf('bios.factory_reset succeeded', flash),
    'update',
    changed,
  ],
  ['a step that was retried, then skipped', 'service', stepsOf('bios.factory_reset begun skipped'), undefined, changed],
  ['no power-off, in a restore', 'restore', stepsOf('deploy.boot_instance failed'), undefined, asItWas],
  ['a power-off, in a restore', 'restore', stepsOf('power.power_off failed'), undefined, changed],
  ['a boot, in a deploy', 'deploy', stepsOf(booted), undefined, changed],
  ['none of its steps, in a deploy', 'deploy', stepsOf('deploy.deploy skipped'), undefined, changed],
])('what has run is %s (%s)', (_what, kind, steps, harmless, expected) => {
  expect(lookAtInstance({ kind }, steps, harmless)).toEqual(expected);
});
