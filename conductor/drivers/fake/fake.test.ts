import { expect, test } from 'vitest';
import { biosContract } from '#conductor/drivers/bios.contract.ts';
import { fakeHardwareType } from '#conductor/drivers/fake/fake.ts';
import { firmwareBootContract } from '#conductor/drivers/firmware-boot.contract.ts';
import { managementContract } from '#conductor/drivers/management.contract.ts';
import { powerContract } from '#conductor/drivers/power.contract.ts';
import { AppError } from '#shared/errors/app-error.ts';

const make = async () => {
  const bmc = fakeHardwareType().connect({});
  return { ...bmc, isOn: async () => (await bmc.power.getPowerState()) === 'power on' };
};

powerContract({ name: 'fake', make, skip: { 'presses the power button': 'it has none' } });
managementContract({ name: 'fake', make, atFirst: { bootDevice: 'pxe', persistent: true } });
firmwareBootContract({ name: 'fake', make });
biosContract({
  name: 'fake',
  make,
  enumeration: { name: 'SysProfile', from: 'PerfPerWatt', to: 'Performance', illegal: 'Turbo' },
  integer: { name: 'NumCores', from: '8', to: '4' },
  boolean: { name: 'Virtualization', from: 'true', to: 'false' },
});

test('nodes with the same fake_id share a machine, others do not', async () => {
  const type = fakeHardwareType();
  await type.connect({ fake_id: 'a' }).power.setPowerState('power on');
  expect(await type.connect({ fake_id: 'a' }).power.getPowerState()).toBe('power on');
  expect(await type.connect({ fake_id: 'b' }).power.getPowerState()).toBe('power off');
  expect(await fakeHardwareType().connect({ fake_id: 'a' }).power.getPowerState()).toBe('power off');
});

test('power is as it is on record, where another conductor has switched it, or this one before its restart', async () => {
  const type = fakeHardwareType();
  const power = (powerState: 'power on' | 'power off' | null) =>
    type.connect({ fake_id: 'a' }, { uuid: 'u1', powerState }).power;
  expect(await power('power on').getPowerState()).toBe('power on');
  await power('power on').setPowerState('power off');
  // not recorded yet
  expect(await power('power on').getPowerState()).toBe('power off');
  expect(await power('power off').getPowerState()).toBe('power off');
  // switched and recorded elsewhere
  expect(await power('power on').getPowerState()).toBe('power on');
  expect(await power(null).getPowerState()).toBe('power on');
});

test('interrupts are counted', async () => {
  const seen: number[] = [];
  const type = fakeHardwareType({ beforeAction: (_action, _id, machine) => void seen.push(machine.nmis) });
  const { management } = type.connect({});
  await management.injectNmi?.();
  await management.injectNmi?.();
  expect(seen).toEqual([0, 1]);
});

test('faults come through the options', async () => {
  const type = fakeHardwareType({
    beforeAction: (action, fakeId) => {
      if (action === 'setPowerState' && fakeId === 'broken') throw new AppError('bmc_error', 'on purpose');
    },
  });
  await expect(type.connect({ fake_id: 'broken' }).power.setPowerState('power on')).rejects.toThrow('on purpose');
  await type.connect({ fake_id: 'good' }).power.setPowerState('power on');
});

test('a fake_id of the wrong type is named', () => {
  expect(() => fakeHardwareType().connect({ fake_id: {} })).toThrow('fake_id');
});
