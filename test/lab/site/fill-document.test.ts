import { expect, test } from 'vitest';
import { fillDocument } from '#test/lab/site/fill-document.ts';

test('each name is replaced wherever it stands', () => {
  expect(fillDocument('mac: $(mac) # $(mac), not $mac', { mac: '52:54:00:00:00:01' })).toBe(
    'mac: 52:54:00:00:00:01 # 52:54:00:00:00:01, not $mac',
  );
});

test('a name without a value is told', () => {
  expect(() => fillDocument('$(rack)', { mac: 'x' })).toThrow('asks for $(rack)');
});
