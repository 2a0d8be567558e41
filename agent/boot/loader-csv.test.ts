import { expect, test } from 'vitest';
import { z } from 'zod';
import { parseLoaderCsv } from '#agent/boot/loader-csv.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';

const marked = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le');
const encoders = {
  utf8: (text: string) => Buffer.from(text),
  utf16le: (text: string) => Buffer.from(text, 'utf16le'),
  'utf16le-marked': marked,
  utf16be: (text: string) => Buffer.from(text, 'utf16le').swap16(),
  'utf16be-marked': (text: string) => marked(text).swap16(),
} as const;

const recordings = await readRecordings(
  'boot/csv',
  z.strictObject({
    encoding: z.enum(['utf16le', 'utf16le-marked']),
    lines: z.array(z.tuple([z.string(), z.string(), z.string().nullable()])),
  }),
);

test.each(recordings)('$name: $shows', ({ outputs, reading }) => {
  const [[path, text] = ['', '']] = Object.entries(outputs);
  const lines = parseLoaderCsv(encoders[reading.encoding](text), path);
  expect(lines.map(({ file, label, data }) => [file, label, data ?? null])).toEqual(reading.lines);
});

const written = '\r\n,no loader\r\nno label\r\n"b.efi","A, ""b""",,"comment"\r\n';

test.each(Object.entries(encoders))('%s, quotation marks, and lines that are none', (_, encode) => {
  expect(parseLoaderCsv(encode(written), 'EFI/a/BOOT.CSV')).toEqual([
    { file: 'EFI/a/b.efi', label: 'A, "b"', data: undefined },
  ]);
});

test('nothing', () => {
  for (const bytes of [Buffer.from(''), Buffer.from('a'), Buffer.from('\ufeff', 'utf16le')]) {
    expect(parseLoaderCsv(bytes, 'EFI/a/BOOT.CSV')).toEqual([]);
  }
});
