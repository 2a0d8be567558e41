import { expect, test } from 'vitest';
import { newestMigration } from '#conductor/kernel/db/backup/dump-and-restore.ts';

const rows = (...lines: readonly string[]) =>
  ['COPY drizzle.__drizzle_migrations (id, hash, created_at) FROM stdin;', ...lines, '\\.', ''].join('\n');

test('the newest migration of a dump is read by the name of its column', () => {
  expect(newestMigration(`--\nSET lock_timeout = 0;\n${rows('1\tab\t1700', '3\tef\t1900', '2\tcd\t1800')}`)).toBe(1900);
});

test('a dump without migrations has none', () => {
  expect(newestMigration('')).toBeUndefined();
  expect(newestMigration(rows())).toBeUndefined();
  expect(newestMigration(rows('1\tab\t\\N'))).toBeUndefined();
});
