import { expect, test } from 'vitest';
import { lookBeforeBoot } from '#test/lab/proofs/look-before-boot.ts';
import type { PowerOnHook } from '#test/lab/virtual-machine.ts';

function powerSwitch() {
  const hooks: PowerOnHook[] = [];
  return {
    onPowerOn: (hook: PowerOnHook) => void hooks.push(hook),
    powerOn: async (first: 'pxe' | 'disk') => {
      for (const hook of hooks) await hook([first]);
    },
  };
}

test('asks at each boot from disk until something is found, and then no more', async () => {
  const machine = powerSwitch();
  const answers = [undefined, 'a system', 'another'];
  const looked: unknown[] = [];
  const found = lookBeforeBoot(machine, () => {
    looked.push(answers[looked.length]);
    return answers[looked.length - 1];
  });
  expect(await found()).toBeUndefined();
  for (const source of ['pxe', 'disk', 'pxe', 'disk', 'disk'] as const) await machine.powerOn(source);
  expect(looked).toEqual([undefined, 'a system']);
  expect(await found()).toBe('a system');
});

test('a look that fails does not keep the machine from booting; the caller learns of it', async () => {
  const machine = powerSwitch();
  const found = lookBeforeBoot(machine, () => Promise.reject(new Error('the disk is locked')));
  await machine.powerOn('disk');
  await machine.powerOn('disk');
  await expect(found()).rejects.toThrow('the disk is locked');
});
