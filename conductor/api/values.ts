import { z } from 'zod';
import type { Remark } from '#conductor/model/remarks/remark.ts';

/** One field of a resource: all that the API knows of it. */
interface Field {
  /** Schema of the value as it is answered. */
  readonly type: z.ZodType;
  /** Schema of the value that an operator may write; absent = nobody writes it. */
  readonly write?: z.ZodType;
  /** The microversion since which it is there; default: that of the resource. */
  readonly since?: number;
  /** Lists show it when no fields are asked for. */
  readonly listed?: true;
}

type Written<Fields> = {
  [Name in keyof Fields as Fields[Name] extends { write: z.ZodType } ? Name : never]: Fields[Name] extends {
    write: infer Write;
  }
    ? Write
    : never;
};

/** Fields of a resource as routes and stores use them. */
export interface ResourceFields {
  /** `deploy template` */
  readonly what: string;
  readonly since: number;
  /** The order shown. */
  readonly all: readonly string[];
  readonly listed: readonly string[];
  /** The microversion since which each is there. */
  readonly versions: Readonly<Record<string, number>>;
  /** The microversion since which lists take `detail`; default: 1.43. */
  readonly detailSince?: number;
}

/** Makes a resource's table of fields, with the shapes of what is answered and of what may be written. */
export function defineFields<Fields extends Record<string, Field>>(what: string, since: number, fields: Fields) {
  const entries = Object.entries(fields);
  const shape = (key: 'type' | 'write') =>
    Object.fromEntries(entries.flatMap(([name, field]) => (field[key] ? [[name, field[key]]] : [])));
  const known: ResourceFields = {
    what,
    since,
    all: Object.keys(fields),
    listed: entries.filter(([, { listed }]) => listed).map(([name]) => name),
    versions: Object.fromEntries(entries.map(([name, field]) => [name, field.since ?? since])),
  };
  return {
    ...known,
    answered: shape('type') as { [Name in keyof Fields]: Fields[Name]['type'] },
    written: shape('write') as Written<Fields>,
  };
}

/** Schemas that the fields of answers are made of. */

export const uuid = z.guid();
export const time = z.string().meta({ description: '2026-11-21T07:35:42.609000+00:00' });
export const nullableText = z.string().nullable();
export const json = z.record(z.string(), z.unknown());
export const wholeNumber = z.number().int();

/** Most operations of a patch, and most steps, conditions or actions that one request lists. */
export const mostListed = 500;

/** Largest value of a column that is an `integer` in PostgreSQL: a larger one is an error of the database. */
export const largestInteger = 2_147_483_647;
/** Most days of an age, a thousand years: dates far beyond can't be written. */
export const mostDays = 365_000;
/** Most characters of the name of something outside, such as a port of a switch: what has an index may not be longer than a page. */
export const longestName = 255;

/**
 * Makes the schema of a whole number that a request gives. The API's document shows its limits.
 * @param rule what the number must be, in the refusal's words
 */
export function wholeFrom(least: number, rule: string, most = largestInteger): z.ZodNumber {
  return z.int({ error: rule }).min(least, rule).max(most, rule);
}
const Link = z.object({ href: z.string(), rel: z.string() });
export const links = z.array(Link);

/** Data of a message: the words of a code may change, its arguments do not (`model/remarks/remark-words.ts`). */
export const RemarkAnswer: z.ZodType<Remark> = z.strictObject({
  code: z.string(),
  subject: z.string().exactOptional(),
  arguments: z.record(z.string(), z.any()),
});

/**
 * Returns a resource as it is answered. Any field may be absent: `fields` chooses, and a microversion leaves out what is
 * newer.
 */
export function answerOf<Fields extends z.ZodRawShape>(id: string, fields: Fields) {
  return z
    .strictObject({ ...fields, links })
    .partial()
    .meta({ id });
}

/** Returns a page of a collection: `{nodes: [...], next}`. */
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
