import { expect, test } from 'vitest';
import { z } from 'zod';
import { bmcMessage, namesOf, statusError } from '#conductor/drivers/redfish/client/errors.ts';
import { nextBody } from '#conductor/drivers/redfish/media/media-bodies.ts';
import { isForCds, slotState, VirtualMedia } from '#conductor/drivers/redfish/media/media-slots.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';

/** Slots for virtual media as BMCs show them, and the words with which they refuse images. */

const Reading = z.union([
  z.strictObject({ slots: z.record(z.string(), z.string()) }),
  z.strictObject({
    /** Properties that the request had beyond the image. */
    had: z.array(z.string()).default([]),
    /** Properties that the next one has more, and less. */
    adds: z.array(z.string()).default([]),
    leaves: z.array(z.string()).default([]),
    /** Part of what an operator reads. */
    says: z.string().optional(),
  }),
]);

const recordings = await readRecordings('redfish-media', Reading);
const url = 'https://192.0.2.9/one.iso';

test.each(recordings)('$name: $shows', ({ outputs, reading }) => {
  const answers = Object.entries(outputs).map(([line, text]) => [line, JSON.parse(text)] as const);
  const read = 'slots' in reading ? { slots: Object.fromEntries(answers.map(slotOf)) } : next(reading, answers[0]?.[1]);
  expect(read).toEqual(reading);
});

function slotOf([line, answer]: readonly [string, unknown]): readonly [string, string] {
  const data = VirtualMedia.parse(answer);
  const about = [slotState(data), ...(isForCds(data) ? ['for CDs'] : [])];
  return [line.split('/').at(-1) ?? '', [...about, ...('VerifyCertificate' in data ? ['verifies'] : [])].join(', ')];
}

function next(reading: Exclude<z.infer<typeof Reading>, { slots: unknown }>, body: unknown): unknown {
  const { had, says } = reading;
  const first = { Image: url, ...Object.fromEntries(had.map((name) => [name, true])) };
  const refusal = statusError('insert', 400, { body, username: 'admin' });
  const following = nextBody(url, [first], namesOf(refusal));
  const named = following?.isNamed ? Object.keys(following.body) : Object.keys(first);
  const words = bmcMessage(body);
  return {
    had,
    adds: named.filter((name) => !(name in first)),
    leaves: had.filter((name) => !named.includes(name)),
    ...(says === undefined ? {} : { says: words.includes(says) ? says : words }),
  };
}
