import { expect, test } from 'vitest';
import { checkArgsInfo } from '#conductor/flows/step-args.ts';

test('a RAID configuration is read before a machine boots for it', () => {
  const argsinfo = { raid_config: { description: 'what to build', required: true } };
  const check = (raid_level: string) => {
    const args = { raid_config: { logical_disks: [{ size_gb: 'MAX', raid_level, controller: 'software' }] } };
    const step = { interface: 'raid', step: 'apply_configuration', priority: 90, args };
    checkArgsInfo(step, argsinfo, { mayBeDisabled: false });
  };
  expect(() => check('1')).not.toThrow();
  expect(() => check('7')).toThrow(/raid\.apply_configuration: raid_config can't be used: .*raid_level/);
});
