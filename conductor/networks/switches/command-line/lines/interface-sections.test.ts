import { expect, test } from 'vitest';
import { spans } from '#conductor/networks/switches/command-line/lines/interface-sections.ts';

test('ports that follow each other are a span, and others stand alone', () => {
  const ports = ['1/1/3', '1/1/1', '1/1/2', '1/2/4', '1/1/9', 'lag7', 'lag8', 'ethernet1/1/1:1', '1/1/10'];
  expect(
    spans(ports)
      .map(({ first, last }) => `${first}..${last}`)
      .sort(),
  ).toEqual([
    '1/1/1..1/1/3',
    '1/1/9..1/1/10',
    '1/2/4..1/2/4',
    'ethernet1/1/1:1..ethernet1/1/1:1',
    'lag7..lag7',
    'lag8..lag8',
  ]);
});
