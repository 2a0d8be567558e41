import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { parseDocuments } from '#conductor/sites/documents/yaml/parse-documents.ts';
import * as fc from '#test/fuzz/fast-check.ts';

const good = 'schema: armada/Chart/v1\nmetadata: {name: NAME}\ndata: {a: 1}\n';
const named = (name: string) => good.replace('NAME', name);
const messages = (text: string, limits = {}) =>
  parseDocuments(text, limits).faults.map(({ level, name, message }) => `${level} ${name} ${message}`);

test('documents in order, empty ones left out', () => {
  const { documents, faults } = parseDocuments(`---\n${named('a')}---\n# nothing\n---\n${named('b')}...\n`);
  expect(faults).toEqual([]);
  expect(documents).toEqual([
    { schema: 'armada/Chart/v1', metadata: { name: 'a' }, data: { a: 1 } },
    { schema: 'armada/Chart/v1', metadata: { name: 'b' }, data: { a: 1 } },
  ]);
  expect(parseDocuments('')).toEqual({ documents: [], faults: [] });
});

test('anchors, aliases and merge keys are written out', () => {
  const { documents } = parseDocuments('schema: s\nmetadata: {name: n}\ndata:\n  a: &a {x: 1}\n  b: {<<: *a, y: 2}\n');
  expect(documents[0]?.['data']).toEqual({ a: { x: 1 }, b: { x: 1, y: 2 } });
});

test('faulty documents are told with their line, and the others are still there', () => {
  const { documents, faults } = parseDocuments(`${named('a')}---\nc: 2\nc: 3\n---\n- x\n---\n${named('b')}`);
  expect(documents.map(({ metadata }) => metadata)).toEqual([{ name: 'a' }, { name: 'b' }]);
  expect(faults.map(({ message }) => message)).toMatchInlineSnapshot(`
    [
      "document 2, line 6, column 1: key c is given twice",
      "document 3, line 8, column 1: it is a list; a document is a mapping with schema, metadata and data",
    ]
  `);
});

test('a merge of what is not a mapping is a fault, not a crash', () => {
  for (const merged of ['<<: 1', 'a: &a 1\nb: {<<: *a}', '<<: [1]']) {
    expect(messages(`schema: s\nmetadata: {name: n}\ndata:\n  ${merged.replace('\n', '\n  ')}`)).toEqual([
      expect.stringMatching(/^Error InvalidYaml document 1: Merge sources must be/),
    ]);
  }
});

test('what is not a document, each with its message', () => {
  const texts = [
    'b: [',
    'a: b: c',
    'a: *x',
    'a: !secret b',
    '? [a]\n: b',
    'a: .inf',
    'a: !!binary aGVsbG8=',
    'a: 1\nb: "x\\0"',
    '__proto__: {a: 1}',
    'text',
    'metadata: {name: a}',
    'schema: [a]\nmetadata: {name: a}',
    'schema: a',
    'schema: a\nmetadata: b',
    'schema: a\nmetadata: {}',
    'schema: a\nmetadata: {name: 7}',
    'schema: a\nmetadata: {name: [7]}',
    `${named('a')}---\n${named('a')}`,
  ];
  expect(texts.flatMap((text) => messages(text))).toMatchInlineSnapshot(`
    [
      "Error InvalidYaml document 1, line 1, column 5: Flow sequence in block collection must be sufficiently indented and end with a ]",
      "Error InvalidYaml document 1, line 1, column 4: Nested mappings are not allowed in compact mappings",
      "Error InvalidYaml document 1: Unresolved alias (the anchor must be set before the alias): x",
      "Error InvalidYaml document 1, line 1, column 4: Unresolved tag: !secret",
      "Error InvalidYaml document 1, line 1, column 3: a key is a list or mapping; it must be text",
      "Error InvalidValue document 1, line 1, column 4: a is Infinity; it must be a number, or text in quotes",
      "Error InvalidValue document 1, line 1, column 13: a is binary or too large; write it as text",
      "Error InvalidValue document 1, line 2, column 4: b has a NUL character",
      "Error InvalidValue document 1, line 1, column 12: __proto__ is not a usable key",
      "Error InvalidDocument document 1, line 1, column 1: it is a single value; a document is a mapping with schema, metadata and data",
      "Error InvalidDocument document 1, line 1, column 1: schema must be text, such as drydock/BaremetalNode/v1",
      "Error InvalidDocument document 1, line 1, column 9: schema must be text, such as drydock/BaremetalNode/v1",
      "Error InvalidDocument document 1, line 1, column 1: metadata is missing: it has the name",
      "Error InvalidDocument document 1, line 2, column 11: metadata must be a mapping with a name",
      "Error InvalidDocument document 1, line 2, column 11: metadata.name is missing",
      "Error InvalidDocument document 1, line 2, column 18: metadata.name must be text: put it into quotes",
      "Error InvalidDocument document 1, line 2, column 18: metadata.name must be text, and not empty",
      "Error DuplicateDocument document 2, line 6, column 18: armada/Chart/v1 a is document 1 already; each document of a schema needs a name of its own",
    ]
  `);
});

test.each([70, 5000])('lists in lists, %i deep', (depth) => {
  const faultTexts = ['Error TooLarge document 1: it is nested too deep'];
  expect(messages('['.repeat(depth) + ']'.repeat(depth))).toEqual(faultTexts);
  expect(messages(`a: ${'['.repeat(5000)}`)).toEqual(faultTexts);
});

test('a few lines that stand for gigabytes are refused', () => {
  const lines = Array.from({ length: 12 }, (_, level) => {
    const items = level === 0 ? Array(10).fill('1') : Array(10).fill(`*a${level - 1}`);
    return `k${level}: &a${level} [${items.join(', ')}]`;
  });
  expect(messages(lines.join('\n'))).toMatchInlineSnapshot(`
    [
      "Error TooLarge document 1: its aliases stand for too much: write it out",
    ]
  `);
  const wide = `a: &a [${Array(200).fill('1').join(',')}]\nb: [${Array(200).fill('*a').join(',')}]`;
  expect(messages(wide, { values: 30_000 })).toMatchInlineSnapshot(`
    [
      "Error TooLarge document 1: it has too many values, those that aliases stand for included",
    ]
  `);
});

test('thousands of keys are not work', () => {
  const keys = Array.from({ length: 5000 }, (_, index) => `k${index}: 1`).join('\n');
  expect(parseDocuments(`${keys}\nk7: 2`).faults.map(({ message }) => message)).toEqual([
    'document 1, line 5001, column 1: key k7 is given twice',
  ]);
});

test('an upload has limits', () => {
  expect(messages('a'.repeat(101), { characters: 100 })).toMatchInlineSnapshot(`
    [
      "Error TooLarge the upload has 101 characters, and may have 100: make several collections of it",
    ]
  `);
  expect(messages(Array(9).fill('- a').join('\n---\n'), { faults: 3 })).toMatchInlineSnapshot(`
    [
      "Error InvalidDocument document 1, line 1, column 1: it is a list; a document is a mapping with schema, metadata and data",
      "Error InvalidDocument document 2, line 3, column 1: it is a list; a document is a mapping with schema, metadata and data",
      "Error InvalidDocument document 3, line 5, column 1: it is a list; a document is a mapping with schema, metadata and data",
      "Error TooManyFaults these are the first 3 faults; the text from document 3 on was not looked at",
    ]
  `);
});

test('one document has limits of its own', () => {
  const large = `${named('a')}---\n${named('b')}more: "${'x'.repeat(100)}"\n`;
  expect(messages(large, { documentCharacters: 100 })).toEqual([
    expect.stringMatching(/^Error TooLarge document 2 has 1\d\d characters, and may have 100$/),
  ]);
  expect(messages(large, { documentCharacters: 200 })).toEqual([]);
  const many = `${named('a')}more: [${'0,'.repeat(100)}]`;
  expect(messages(many, { documentValues: 100 })).toEqual([
    'Error TooLarge document 1: it has too many values, those that aliases stand for included',
  ]);
  expect(messages(`${named('a')}more: |\n${'  ---\n'.repeat(50)}`, { documentCharacters: 200 })).toHaveLength(1);
  expect(messages('---\n'.repeat(100_002))).toEqual(['Error TooLarge the upload has more than 100000 documents']);
});

test('whatever JSON there is comes back', () => {
  // PyYAML's numbers have a dot before their exponent
  const value = fc.jsonValue({ maxDepth: 4 }).filter((data) => !/__proto__|\de[-+]?\d/.test(JSON.stringify(data)));
  const text = fc.string({ unit: 'binary-ascii' }).filter((each) => !each.includes('\u0000'));
  fc.assert(
    fc.property(value, text, (data, words) => {
      const document = { schema: 's', metadata: { name: 'n' }, data: { data, words } };
      // -0 and unpaired surrogates are not JSON's to keep
      const kept: unknown = JSON.parse(JSON.stringify(document).replaceAll('-0', '0'));
      const { documents, faults } = parseDocuments(JSON.stringify(kept));
      if (JSON.stringify(kept).includes('\\u0000')) return;
      expect(faults).toEqual([]);
      expect(documents).toEqual([kept]);
      expect(parseDocuments(stringify(kept, { compat: 'yaml-1.1' })).documents).toEqual([kept]);
    }),
    { numRuns: 100 },
  );
});

/** Values as PyYAML 6.0 answers; test/system/pyyaml.test.ts asks it for thousands. */
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
