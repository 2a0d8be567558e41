import { expect, test } from 'vitest';
import { inStep } from '#conductor/nodes/change/instance-name.ts';

const names = (name: string | null, shown?: unknown) => ({
  instance_name: name,
  instance_info: { image_source: 'x', ...(shown === undefined ? {} : { display_name: shown }) },
});

test.each([
  ['a new node by its field', names('web'), undefined, names('web', 'web')],
  ['a new node by its display name', names(null, 'web'), undefined, names('web', 'web')],
  ['the field', names('db', 'web'), names('web', 'web'), names('db', 'db')],
  ['the display name', names('web', 'db'), names('web', 'web'), names('db', 'db')],
  ['both', names('db', 'cache'), names('web', 'web'), names('db', 'db')],
  ['the field, which goes', names(null, 'web'), names('web', 'web'), names(null)],
  ['the display name of one that is named otherwise', names('web', 'b'), names('web', 'a'), names('web', 'b')],
  ['the display name, which goes', names('web'), names('web', 'web'), names('web')],
  ['nothing', names(null, 'web'), names(null, 'web'), names(null, 'web')],
  ['a display name that is no name', names(null, 7), names(null), names(null, 7)],
  ['a display name without letters', names(null, ''), names(null), names(null, '')],
  ['a display name that is too long', names(null, 'x'.repeat(256)), names(null), names(null, 'x'.repeat(256))],
])('changes %s', (_, after, before, expected) => {
  expect(inStep(after, before)).toEqual(expected);
});
