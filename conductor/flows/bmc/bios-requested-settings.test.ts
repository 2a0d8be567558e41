import { expect, test } from 'vitest';
import {
  describeRequested,
  errorWithoutSecrets,
  withoutSecrets,
} from '#conductor/flows/bmc/bios-requested-settings.ts';
import { type BiosSetting, bareSetting } from '#shared/bios/bios-setting.ts';
import { AppError, errorChain, isRetryable } from '#shared/errors/app-error.ts';

const typed = (name: string, type: string, value: string | null): BiosSetting => ({
  ...bareSetting(name, value),
  attribute_type: type,
});
const known = new Map(
  [typed('Cores', 'Integer', '8'), typed('Admin', 'Password', null), bareSetting('Bare', 'x')].map((each) => [
    each.name,
    each,
  ]),
);
const wanted = [
  { name: 'Cores', value: '4' },
  { name: 'Admin', value: 'hush' },
  { name: 'Bare', value: 'maybe' },
  { name: 'Gone', value: '' },
];

test('values stand only where a setting is known not to be a password', () => {
  expect(describeRequested(wanted, (name) => known.get(name))).toBe('Cores = 4 (now 8), Admin, Bare, Gone');
});

test("a BMC's words lose passwords, and nothing else", () => {
  expect(withoutSecrets("4 is bad, 'hush' and maybe too", wanted, known)).toBe("4 is bad, '******' and ****** too");
});

test('an error that repeats a password is replaced by one of its kind', () => {
  const plain = new AppError('bmc_error', 'set Admin', { cause: new AppError('timeout', 'no answer') });
  expect(errorWithoutSecrets(plain, wanted, known)).toBe(plain);
  const revealing = new AppError('timeout', 'set Admin', { cause: new AppError('bmc_error', 'hush is too short') });
  const masked = errorWithoutSecrets(revealing, wanted, known);
  expect(errorChain(masked)).toBe('set Admin: ****** is too short');
  expect([masked instanceof AppError && masked.code, isRetryable(masked)]).toEqual(['timeout', true]);
});
