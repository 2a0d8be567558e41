import { expect, test } from 'vitest';
import { currentFault, storedFault } from '#conductor/flows/log/step-fault.ts';

const waits = { state: 'waiting', waitingFor: 'the ramdisk\u0000', error: null } as const;
const fault = { code: 'ramdisk_silent', subject: 'n1' } as const;
const stored = storedFault(fault, waits);

test('a fault is of the step as it was then', () => {
  expect(currentFault({ ...waits, fault: stored })).toEqual(fault);
  // as PostgreSQL has kept the words
  expect(currentFault({ ...waits, waitingFor: 'the ramdisk\uFFFD', fault: stored })).toEqual(fault);
  expect(currentFault({ ...waits, fault: null })).toBeNull();
});

test.each([
  ['fails', { state: 'failed', waitingFor: null, error: 'no room' }],
  ['is run again', { state: 'running', waitingFor: null, error: null }],
  ['waits for another thing', { ...waits, waitingFor: 'the BMC' }],
] as const)('a step that an older conductor moves on (%s) has no fault', (_, step) => {
  expect(currentFault({ ...step, fault: stored })).toBeNull();
});

test('a failure has the words of its error', () => {
  const failed = { state: 'failed', waitingFor: null, error: 'no room' } as const;
  const kept = storedFault({ code: 'image_too_large' }, failed);
  expect(currentFault({ ...failed, fault: kept })).toEqual({ code: 'image_too_large' });
  expect(currentFault({ ...failed, error: 'another', fault: kept })).toBeNull();
});
