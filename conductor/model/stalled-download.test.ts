import { expect, test } from 'vitest';
import { stalledDownload } from '#conductor/model/stalled-download.ts';

const phase = 'writing image';

test('a download that goes on, or of which nothing is known, does not stand still', () => {
  expect(stalledDownload(null)).toBeUndefined();
  expect(stalledDownload({ phase, rate: 12 })).toBeUndefined();
  expect(stalledDownload({ phase, still_seconds: 59 })).toBeUndefined();
  expect(stalledDownload({ phase, still_seconds: '90' })).toBeUndefined();
});

test('no byte for a minute, or a failed try, says so with its code', () => {
  expect(stalledDownload({ phase, still_seconds: 60 })).toEqual({
    fault: { code: 'image_stalled' },
    reason: 'no byte of the image has come for 60 s',
    isRetried: false,
    tries: 0,
  });
  const trouble = { tries: 2, last_error: 'refused', situation: 'image_server', subject: 'http://images/a' };
  expect(stalledDownload({ phase, still_seconds: 12, ...trouble })).toEqual({
    fault: { code: 'image_server', subject: 'http://images/a' },
    reason: 'no byte of the image has come for 12 s; try 2 failed: refused',
    isRetried: true,
    tries: 2,
  });
  expect(stalledDownload({ phase, ...trouble, situation: 'invented' })?.fault.code).toBe('image_stalled');
});
