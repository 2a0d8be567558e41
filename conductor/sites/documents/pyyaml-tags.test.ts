import { expect, test } from 'vitest';
import { parseDocuments } from '#conductor/sites/documents/parse-documents.ts';

/** As PyYAML 6.0 answers; test/system/pyyaml.test.ts asks it for thousands. */
test.each<[string, unknown]>([
  ['0644', 420],
  ['0o644', '0o644'],
  ['089', '089'],
  ['0x1F', 31],
  ['-0b11', -3],
  ['1_000', 1000],
  ['190:20:30', 685_230],
  ['1:30.5', 90.5],
  ['1e3', '1e3'],
  ['1.5e+3', 1500],
  ['yes', true],
  ['Off', false],
  ['y', 'y'],
  ['~', null],
  ['', null],
  ['"yes"', 'yes'],
  ['!!str 0644', '0644'],
  ['!!int "0644"', 420],
  ['2026-11-24', '2026-11-24'],
  ['52:54:00:12:34:56', '52:54:00:12:34:56'],
])('%s is %o', (text, value) => {
  const { documents, faults } = parseDocuments(`schema: a/B/v1\nmetadata: {name: a}\ndata:\n  key: ${text}\n`);
  expect(faults).toEqual([]);
  expect(documents[0]?.['data']).toEqual({ key: value });
});

test('keys stay as they are written, whatever the version that the document says', () => {
  const { documents } = parseDocuments(
    '%YAML 1.2\n---\nschema: a/B/v1\nmetadata: {name: a}\ndata: {on: off, 0644: 1}\n',
  );
  expect(documents[0]?.['data']).toEqual({ on: false, '0644': 1 });
});
