import { readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { driverSteps } from '#conductor/flows/driver-steps/index.ts';

test('the table has the steps of each file of the folder, one file for each interface', async () => {
  const files = (await readdir(import.meta.dirname)).filter(
    (name) =>
      !/^(index|driver-step|apply-settings|ask-for-volumes|fetch-firmware-image|firmware-done|firmware-shown|firmware-start|firmware-time|plan-volumes|settle-left)\.|\.test\.ts$/.test(
        name,
      ),
  );
  expect(files.length).toBeGreaterThan(0);
  const interfaces = new Set(driverSteps.map((step) => `${step.interface}.ts`));
  expect([...interfaces].sort()).toEqual(files.sort());
});

test('no step is given twice', () => {
  const names = driverSteps.map((step) => `${step.interface}.${step.step}`);
  expect(names).toEqual([...new Set(names)]);
});

test('no power is switched amid what writes firmware, volumes or settings', () => {
  const writing = driverSteps.filter(({ interface: kind }) => ['firmware', 'raid', 'bios'].includes(kind));
  expect(writing.length).toBeGreaterThan(4);
  expect(writing.filter(({ mustNotLosePower }) => mustNotLosePower === undefined)).toEqual([]);
});
