import { expect, test } from 'vitest';
import type { DriverContext } from '#conductor/drivers/driver-definition.ts';
import { ipmiDriver } from '#conductor/drivers/ipmi/ipmi.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';

test('a BMC is asked what changes nothing, and a refused question does not end the recording', async () => {
  const asked: string[] = [];
  const run: DriverContext['run'] = async (_program, args) => {
    const question = args.slice(-2).join(' ');
    asked.push(question);
    if (question === 'lan print')
      throw new AppError('command_failed', 'ipmitool failed', { details: { exitCode: 1, stderr: 'Invalid channel' } });
    return Promise.resolve({ stdout: `of ${question}`, stderr: '', exitCode: 0, durationMs: 1 });
  };
  const hardware = ipmiDriver.open({ run, log: silentLog }, { minSpacingMs: 0, attempts: 1 });
  const bmc = hardware.connect({ ipmi_address: '192.0.2.1', ipmi_username: 'u', ipmi_password: 'hunter22' });
  const recording = await bmc.recorder?.record();
  expect(recording?.outputs).toMatchObject({ 'ipmitool mc info': 'of mc info', 'ipmitool fru print': 'of fru print' });
  expect(recording?.faults).toEqual([expect.stringContaining('lan print')]);
  expect(asked.join()).not.toMatch(/set|reset|power (on|off)/);
});
