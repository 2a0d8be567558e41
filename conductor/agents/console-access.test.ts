import { expect, test } from 'vitest';
import { requireConsoleAccess } from '#conductor/agents/consoles.ts';

test.each([
  ['loopback', '127.0.0.1'],
  ['loopback', '::1'],
  ['loopback', 'localhost'],
  ['true', '0.0.0.0'],
] as const)('BATON_CONSOLE=%s allows it on %s', (console, host) => {
  expect(() => requireConsoleAccess({ console, host })).not.toThrow();
});

test.each([
  ['false', '127.0.0.1', /BATON_CONSOLE does not allow it/],
  ['loopback', '0.0.0.0', /listens on 0\.0\.0\.0; BATON_CONSOLE=true/],
  ['loopback', '127.0.0.1.example', /listens on/],
] as const)('BATON_CONSOLE=%s refuses it on %s', (console, host, refusal) => {
  expect(() => requireConsoleAccess({ console, host })).toThrow(refusal);
});
