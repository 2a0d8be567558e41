import { expect, test } from 'vitest';
import { renderStatus } from '#conductor/cli/render-status.ts';

test('faults that the message ends with are told once, a line each', () => {
  const fault = (message: string) => ({ message, level: 'Error', kind: 'ValidationMessage' });
  const status = (message: string) => ({
    kind: 'Status',
    status: 'Failure',
    message,
    details: { messageList: [fault('no id'), fault('no role')] },
  });
  expect(renderStatus(status('plugin ntp: no id; no role'))).toBe('plugin ntp:\n  Error no id\n  Error no role');
  expect(renderStatus(status('the upload has 2 errors'))).toBe(
    'the upload has 2 errors\n  Error no id\n  Error no role',
  );
});
