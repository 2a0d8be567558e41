import { expect, test } from 'vitest';
import { nameApart } from '#conductor/drivers/sensor-names.ts';

test.each([
  [
    ['PSU', 'Fan', 'PSU', 'PSU'],
    ['PSU', 'Fan', 'PSU 2', 'PSU 3'],
  ],
  [
    ['PSU', 'PSU', 'PSU 2'],
    ['PSU', 'PSU 3', 'PSU 2'],
  ],
  [
    ['x'.repeat(500), `${'x'.repeat(499)}y`],
    ['x'.repeat(100), `${'x'.repeat(100)} 2`],
  ],
])('sensors of %j', (names, expected) => {
  const readings = names.map((name) => ({ name, kind: 'other', value: 1, unit: null, health: null }) as const);
  expect(nameApart(readings).map(({ name }) => name)).toEqual(expected);
});
