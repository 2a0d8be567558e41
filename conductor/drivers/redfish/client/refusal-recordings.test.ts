import { expect, test } from 'vitest';
import { z } from 'zod';
import { placeNamedBy, statusError, triesLater } from '#conductor/drivers/redfish/client/errors.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';

/** BMCs' refusals are read by their words: which of them pass. */

const agains = ['never', 'three times', 'until the time is over'] as const;

const Reading = z.strictObject({
  /** Part of what an operator reads. */
  says: z.string(),
  /** Whether the same request is repeated. */
  again: z.enum(agains),
  /** Things that it names in the place of what was asked for. */
  place: z.string().optional(),
});

const recordings = await readRecordings('redfish-refusals', Reading);

test.each(recordings)('$name: $shows', ({ outputs, reading }) => {
  const [text = ''] = Object.values(outputs);
  const [head = '', ...rest] = text.split('\n\n');
  const status = Number(head.split(' ')[1]);
  const body: unknown = JSON.parse(rest.join('\n\n'));
  const refusal = statusError('asked', status, { body, username: 'admin' });
  const place = placeNamedBy(refusal, 'https://192.0.2.1');
  expect({
    says: refusal.message.includes(reading.says) ? reading.says : refusal.message,
    again: againOf(triesLater(status, body)),
    ...(place === undefined ? {} : { place }),
  }).toEqual(reading);
});

function againOf(tries: number | undefined): (typeof agains)[number] {
  if (tries === undefined) return 'never';
  return Number.isFinite(tries) ? 'three times' : 'until the time is over';
}
