import { z } from 'zod';
import type { Remark } from '#conductor/model/remark.ts';

/** What the fields of answers are made of. */

export const uuid = z.guid();
export const time = z.string().meta({ description: '2026-11-21T07:35:42.609000+00:00' });
export const line = z.string().nullable();
export const json = z.record(z.string(), z.unknown());
export const whole = z.number().int();
const Link = z.object({ href: z.string(), rel: z.string() });
export const links = z.array(Link);

/** What a message says, as data: the words of a code may change, its arguments do not (`model/remark-words.ts`). */
export const RemarkAnswer: z.ZodType<Remark> = z.strictObject({
  code: z.string(),
  subject: z.string().exactOptional(),
  arguments: z.record(z.string(), z.any()),
});

/** A page of a collection: `{nodes: [...], next}`. */
export function pageOf(key: string, item: z.ZodType) {
  return z.strictObject({
    [key]: z.array(item),
    next: z.string().optional().meta({ description: 'Where the next page is, when this one is full.' }),
  });
}

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;

/** The value that a schema describes, as those who build and read answers pass it on. */
export type Answer<Schema extends z.ZodType> = DeepReadonly<z.infer<Schema>>;
