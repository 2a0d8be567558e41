import type { z } from 'zod';

/** One field of a resource: all that the API knows of it. */
interface Field {
  /** As it is answered. */
  readonly type: z.ZodType;
  /** What an operator may write; absent = nobody writes it. */
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

/** What routes and stores use of a resource's fields. */
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

/** A resource's table of fields, with the shapes of what is answered and of what may be written. */
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
