import { expect, test } from 'vitest';
import { readFault } from '#conductor/cli/shell/render-status.ts';

test.each([
  ['{"error_message": "{\\"faultstring\\": \\"no node\\", \\"faultcode\\": \\"Client\\"}"}', 'no node'],
  ['{"error_message": "{\\"code\\": 404, \\"description\\": \\"no path\\"}"}', 'no path'],
  ['{"error_message": {"faultstring": "plain"}}', 'plain'],
  ['{"error_message": "not JSON"}', undefined],
  ['{"message": "other"}', undefined],
  ['<html>502</html>', undefined],
  ['', undefined],
])('%s', (body, fault) => {
  expect(readFault(body).message).toBe(fault);
});
