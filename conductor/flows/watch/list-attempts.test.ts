import { expect, test } from 'vitest';
import { arrangeAttempts } from '#conductor/flows/watch/list-attempts.ts';

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
const iso = (second: number) => at(second).toISOString();
const event = (step: string, name: string, second: number, detail: string | null = null) => ({
  step,
  event: name,
  at: at(second),
  detail,
});

test('each attempt has its beginning, its wait and why; steps do not mix', () => {
  const events = [
    event('a', 'started', 0),
    event('a', 'waiting', 2, 'the BMC is away'),
    event('b', 'started', 3),
    event('a', 'started', 12),
    event('a', 'waiting', 13, 'first'),
    event('a', 'waiting', 15, 'and again'),
  ];
  expect([...arrangeAttempts(events)]).toEqual([
    [
      'a',
      [
        { started_at: iso(0), waits_since: iso(2), reason: 'the BMC is away' },
        { started_at: iso(12), waits_since: iso(13), reason: 'and again' },
      ],
    ],
    ['b', [{ started_at: iso(3), waits_since: null, reason: null }]],
  ]);
});

test('a wait whose beginning lies before what was read is left out', () => {
  expect([...arrangeAttempts([event('a', 'waiting', 2, 'long ago')])]).toEqual([['a', []]]);
});
