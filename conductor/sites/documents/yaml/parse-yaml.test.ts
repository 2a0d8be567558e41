import { expect, test } from 'vitest';
import { parseYaml } from '#conductor/sites/documents/yaml/parse-yaml.ts';
import { cpuMs } from '#test/support/cpu-time.ts';

function faultTexts(text: string): string {
  try {
    return JSON.stringify(parseYaml(text)) ?? 'nothing';
  } catch (error) {
    return `refused: ${(error as Error).message}`;
  }
}

test('what it says, or the line in which it is wrong', () => {
  expect(['', '# nothing', 'a: [1, x]', '{"a": null}', 'a: &x {b: 1}\nc: {<<: *x}'].map(faultTexts)).toEqual([
    'nothing',
    'nothing',
    '{"a":[1,"x"]}',
    '{"a":null}',
    '{"a":{"b":1},"c":{"b":1}}',
  ]);
  expect(['a: 1\na: 2', 'a: [', 'a: *x', 'a: 1\n---\nb: 1', '['.repeat(5000)].map(faultTexts)).toMatchInlineSnapshot(`
    [
      "refused: line 2, column 1: key a is given twice",
      "refused: line 1, column 5: Flow sequence in block collection must be sufficiently indented and end with a ]",
      "refused: Unresolved alias (the anchor must be set before the alias): x",
      "refused: line 2, column 1: Source contains multiple documents; please use YAML.parseAllDocuments()",
      "refused: line 1, column 792: it is nested too deep",
    ]
  `);
});

test('what would take long is refused at once', () => {
  const keys = (count: number) => Array.from({ length: count }, (_, index) => `k${index}: 1`).join('\n');
  const aliases = `a: &a [${'1,'.repeat(100)}]\nb: &b [${'*a,'.repeat(100)}]\nc: [${'*b,'.repeat(100)}]`;
  const started = cpuMs();
  expect(faultTexts(keys(8000))).toContain('"k7999":1');
  expect(faultTexts(keys(20_000))).toBe('refused: it is too large to be read');
  expect(faultTexts(`[${'0,'.repeat(130_000)}0]`)).toBe('refused: it is too large to be read');
  expect(faultTexts(aliases)).toContain('Excessive alias count');
  // the library's own check of keys took ten
  expect(cpuMs() - started).toBeLessThan(8000);
});
