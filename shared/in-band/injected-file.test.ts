import { expect, test } from 'vitest';
import { readInjectedFiles } from '#shared/in-band/injected-file.ts';

test("the node's files come first, modes may be octal texts", () => {
  const files = readInjectedFiles({ inject_files: [{ path: '/etc/a', content: '' }] }, [
    { path: '/etc/b', content: 'eA==', mode: '0640', dirmode: 0o755, owner: 0, partition: 3 },
    { path: '/x', deleted: true, partition: 'root' },
  ]);
  expect(files.map(({ path, mode }) => [path, mode])).toEqual([
    ['/etc/a', undefined],
    ['/etc/b', 0o640],
    ['/x', undefined],
  ]);
  expect(readInjectedFiles({}, null)).toEqual([]);
});

test.each([
  [{ content: 'eA==' }, /files\[0\].path/],
  [{ path: '/etc/', content: 'eA==' }, /files\[0\].path must name a file, not a folder/],
  [{ path: '/etc/../x', content: 'eA==' }, /files\[0\].path must not have "\.\."/],
  [{ path: '/motd', content: 'eA==' }, /files\[0\].partition is required for a file in the root folder/],
  [{ path: '/etc/x' }, /files\[0\].content is missing/],
  [{ path: '/etc/x', content: 'eA==', deleted: true }, /files\[0\].content and deleted exclude each other/],
  [{ path: '/etc/x', content: 'eA==', mode: '0999' }, /files\[0\].mode/],
  [{ path: '/etc/x', content: 'eA==', mode: 0o10000 }, /files\[0\].mode/],
  [{ path: '/etc/x', content: 'eA==', owner: 'root' }, /files\[0\].owner/],
  [{ path: '/etc/x', content: 'eA==', colour: 'red' }, /files\[0\].*colour/],
])('%j is refused', (file, message) => {
  expect(() => readInjectedFiles({}, [file])).toThrow(message);
});

test('what is not a list is named by its source', () => {
  expect(() => readInjectedFiles({ inject_files: 'x' }, [])).toThrow(/^properties.inject_files /);
});
