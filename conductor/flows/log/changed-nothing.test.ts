import { expect, test } from 'vitest';
import { hasChangedNothing, markRefusals } from '#conductor/flows/log/changed-nothing.ts';
import { AppError, faultOf } from '#shared/errors/app-error.ts';

const refusal = new AppError('invalid_argument', 'driver_info.redfish_address is wrong', {
  cause: new Error('not a URL'),
  details: { field: 'redfish_address' },
  retryable: true,
  situation: 'bmc_settings',
  subject: 'n1',
});
const caught = (isRepeated: boolean) =>
  markRefusals({ isRepeated }, () => Promise.reject(refusal)).then(
    () => undefined,
    (error: unknown) => error as AppError,
  );

test('a refusal that has changed nothing stays what it is for an operator', async () => {
  const marked = await caught(false);
  expect(hasChangedNothing(marked)).toBe(true);
  expect(faultOf(marked)).toEqual({ code: 'bmc_settings', subject: 'n1' });
  expect(marked).toMatchObject({
    code: refusal.code,
    message: refusal.message,
    cause: refusal.cause,
    retryable: true,
    details: { field: 'redfish_address' },
  });
});

test('a repeated run may have changed something', async () => {
  expect(await caught(true)).toBe(refusal);
});
