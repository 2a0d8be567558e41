import { randomBytes } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { expect } from 'vitest';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { rowsOf } from '#conductor/kernel/db/query/statement.ts';

/** Words to be given where secrets are, and to be found nowhere. */
export interface Canaries {
  /** A word that stands nowhere else; short enough for a BIOS password. */
  readonly canary: (where: string) => string;
  /** `where the word was given → where it was found`. */
  readonly found: (texts: readonly string[]) => string[];
}

export function createCanaries(): Canaries {
  const canaries = new Map<string, string>();
  return {
    canary: (where) => {
      const word = `cnry${randomBytes(8).toString('hex')}`;
      canaries.set(word, where);
      return word;
    },
    found: (texts) =>
      texts.flatMap((text) =>
        [...canaries].flatMap(([word, where]) => {
          const at = text.indexOf(word);
          return at < 0 ? [] : [`${where} → ${text.slice(Math.max(0, at - 300), at + 40)}`];
        }),
      ),
  };
}

/** Every row of every table, as text. */
export async function dumpDatabase(db: Queryable): Promise<string[]> {
  const tables = rowsOf(
    await db.execute(sql`select table_name as name from information_schema.tables where table_schema = 'public'`),
  ) as { name: string }[];
  expect(tables.length).toBeGreaterThan(15);
  const dump: string[] = [];
  for (const { name } of tables) {
    const rows = rowsOf(await db.execute(sql`select t::text as row from ${sql.identifier(name)} t`)) as {
      row: string;
    }[];
    dump.push(...rows.map(({ row }) => `${name}: ${row}`));
  }
  return dump;
}
