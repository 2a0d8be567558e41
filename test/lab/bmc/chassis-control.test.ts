import { expect, test } from 'vitest';
import { answerChassisControl } from '#test/lab/bmc/chassis-control.ts';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';

/** The calls that ipmi_sim 2.0.33 made for: power status, bootdev pxe, power on, reset, soft, off. */
test('what ipmi_sim asks for', async () => {
  const machine = createMemoryMachine();
  const ask = (line: string): Promise<string> => answerChassisControl(machine, line.split(' '));
  expect(await ask('0x20 get power')).toBe('power:0\n');
  expect(await ask('0x20 set boot pxe')).toBe('');
  expect(machine.getBoot()).toMatchObject({ device: 'pxe', once: true });
  expect(await ask('0x20 get boot')).toBe('boot:pxe\n');
  await ask('0x20 set power 1');
  expect(await ask('0x20 get power boot')).toBe('power:1\nboot:none\n');
  await ask('0x20 set boot default');
  expect(machine.getBoot()).toMatchObject({ device: 'disk' });
  await ask('0x20 set reset 1');
  await ask('0x20 set shutdown 1');
  expect(machine.actions).toEqual(['on', 'reset', 'graceful']);
  await expect(ask('0x20 set boot floppy')).rejects.toThrow('set boot floppy');
  await expect(ask('0x20 check identify')).rejects.toThrow('check identify');
});
