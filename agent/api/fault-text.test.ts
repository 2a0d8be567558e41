import { expect, test } from 'vitest';
import { faultText } from '#agent/api/fault-text.ts';

test.each([
  ['{"faultcode": "Client", "faultstring": "locked", "debuginfo": null}', '409: locked'],
  [{ faultcode: 'Client', faultstring: 'locked' }, '409: locked'],
  [{ title: 'Conflict' }, '409: Conflict'],
  ['plain words', '409: plain words'],
])('%j', (message, text) => {
  expect(faultText({ status: 409, body: { error_message: message } })).toBe(text);
  expect(faultText({ status: 409, body: message })).toBe(text);
});

test.each([undefined, null, 7, {}, { error_message: null }])('%j has no text', (body) => {
  expect(faultText({ status: 502, body })).toBe('502');
});
