import { expect, test } from 'vitest';
import { watchDownload } from '#agent/image/watch-download.ts';
import type { Progress } from '#shared/wire/progress.ts';

function watched() {
  const reports: Progress[] = [];
  const time = { ms: 0 };
  const clock = { now: () => new Date(time.ms), sleep: () => Promise.resolve() };
  return { watch: watchDownload({ clock, reportProgress: (each) => reports.push(each) }), reports, time };
}

test('bytes that stand still are reported with how long they do', () => {
  const { watch, reports, time } = watched();
  watch.moved(100, 1000);
  time.ms = 4_000;
  watch.look();
  expect(reports).toEqual([]);
  time.ms = 65_000;
  watch.look();
  expect(reports).toEqual([{ phase: 'writing image', done_bytes: 100, total_bytes: 1000, rate: 0, still_seconds: 65 }]);
  watch.moved(200, 1000);
  expect(reports.at(-1)).not.toHaveProperty('still_seconds');
});

test('a server that was never reached stands still from the start', () => {
  const { watch, reports, time } = watched();
  time.ms = 61_000;
  watch.look();
  expect(reports).toEqual([{ phase: 'writing image', rate: 0, still_seconds: 61 }]);
});

test('a file that is there as a whole no longer stands still', () => {
  const { watch, reports, time } = watched();
  watch.moved(1000, 1000);
  time.ms = 90_000;
  watch.look();
  expect(reports).toEqual([]);
});

test('failed tries are kept until bytes come', () => {
  const { watch, reports, time } = watched();
  watch.failed(new Error('refused'), 1, 'http://user:secret@images/a');
  time.ms = 10_000;
  watch.look();
  expect(reports).toEqual([
    expect.objectContaining({ tries: 1, last_error: 'refused', situation: 'image_server', still_seconds: 0 }),
    expect.objectContaining({ tries: 1, last_error: 'refused', still_seconds: 10 }),
  ]);
  expect(JSON.stringify(reports)).not.toContain('secret');
  watch.moved(10, undefined);
  expect(reports.at(-1)).not.toHaveProperty('last_error');
});
