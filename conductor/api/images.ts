import { z } from 'zod';
import { type Answer, mostDays, nullableText, time, wholeNumber } from '#conductor/api/values.ts';

/** Images in chunks: Baton's own. */

const ImageUser = z.strictObject({
  kind: z.enum(['node', 'flow', 'deploy_template', 'runbook', 'site_revision']),
  id: z.string(),
  name: nullableText,
});

const image = {
  name: z.string(),
  checksum: z.string().meta({ description: 'What a deploy names as image_checksum: sha256:HEX of the index.' }),
  size: wholeNumber.nullable().meta({ description: 'Bytes of the image; null when its index is damaged.' }),
  chunks: wholeNumber.nullable(),
  added_at: time,
  users: z.array(ImageUser),
};
export const Image = z.strictObject(image).meta({ id: 'Image' });
export type ImageAnswer = Answer<typeof Image>;

export const MeasuredImage = z
  .strictObject({
    ...image,
    stored_bytes: wholeNumber.meta({ description: 'Of its chunks, as they are stored.' }),
    own_bytes: wholeNumber.meta({ description: 'Of those that no other image has.' }),
  })
  .meta({ id: 'MeasuredImage' });
export type MeasuredImageAnswer = Answer<typeof MeasuredImage>;

const dayRule = `must be a number of days, at most ${mostDays}`;

export const ImagePrune = z
  .strictObject({
    older_than_days: z.number({ error: dayRule }).min(0, dayRule).max(mostDays, dayRule).default(7),
    dry_run: z.boolean({ error: 'must be true or false' }).default(false),
  })
  .meta({ id: 'ImagePrune' });

export const PrunedImages = z
  .strictObject({
    images: z.array(z.string()).meta({ description: 'Removed, or with dry_run to be removed.' }),
    kept: z.array(Image).meta({ description: 'Used, or too young.' }),
    chunks: wholeNumber.meta({ description: 'Removed; those of the last 24 hours stay. 0 with dry_run.' }),
    bytes: wholeNumber,
  })
  .meta({ id: 'PrunedImages' });
export type PrunedImagesAnswer = Answer<typeof PrunedImages>;
