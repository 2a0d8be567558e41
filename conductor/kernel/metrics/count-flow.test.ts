import { expect, test } from 'vitest';
import { countImageBytes, createMetrics } from '#conductor/kernel/metrics/metrics.ts';
import { systemClock } from '#shared/clock.ts';
import { silentLog } from '#shared/log.ts';

test('the bytes of images in chunks are counted by where they came from', async () => {
  const metrics = createMetrics();
  const context = { metrics, clock: systemClock, log: silentLog };
  countImageBytes(context, 'image (demo) written to device /dev/sda root_uuid=0x1');
  countImageBytes(context, { kept: 1 });
  for (let deploy = 0; deploy < 2; deploy += 1) {
    countImageBytes(context, 'image (demo) written to device /dev/sda kept_bytes=9 copied_bytes=8 fetched_bytes=7');
  }
  countImageBytes(
    context,
    'image (demo) written to device /dev/sda kept_bytes=0 copied_bytes=0 fetched_bytes=0 neighbour_bytes=6',
  );
  const { values } = await metrics.imageBytes.get();
  expect(values.map(({ labels, value }) => [labels.origin, value])).toEqual([
    ['kept', 18],
    ['copied', 16],
    ['fetched', 14],
    ['neighbours', 6],
  ]);
});
