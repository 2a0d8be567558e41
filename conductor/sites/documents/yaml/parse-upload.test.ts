import { expect, test } from 'vitest';
import { parseDocuments } from '#conductor/sites/documents/yaml/parse-documents.ts';
import { newParseUpload, parseUpload } from '#conductor/sites/documents/yaml/parse-upload.ts';

const named = (name: string, data = '{}') => `schema: armada/Chart/v1\nmetadata: {name: ${name}}\ndata: ${data}\n---\n`;

/** How often something else had its turn meanwhile. */
async function countTurns<Result>(work: () => Promise<Result>): Promise<{ result: Result; turns: number }> {
  let turns = 0;
  const beat = setInterval(() => {
    turns += 1;
  }, 1);
  const result = await work();
  clearInterval(beat);
  return { result, turns };
}

test('it is what parseDocuments says, of small ones and of large ones', async () => {
  const large = Array.from({ length: 300 }, (_, index) => named(`n${index}`, '{a: [1, 2]}')).join('');
  for (const text of [named('a'), large, `${large}schema: [`])
    expect(await parseUpload(text)).toEqual(parseDocuments(text));
});

test('one document of thousands of values holds nobody up, and more than that is refused at once', async () => {
  const flat = named('a', `[${'0,'.repeat(60_000)}0]`);
  const parse = newParseUpload({ documents: { documentValues: 50_000 } });
  const { result, turns } = await countTurns(() => parse(flat));
  expect(result.faults.map(({ name }) => name)).toEqual(['TooLarge']);
  expect(turns).toBeGreaterThan(10);
  const larger = named('a', `[${'0,'.repeat(2_000_000)}0]`);
  expect((await parseUpload(larger)).faults.map(({ message }) => message)).toEqual([
    expect.stringContaining('document 1 has 4000'),
  ]);
});

test('what takes too long or too much memory is too large, and the next one is read', async () => {
  const documents = { documentCharacters: 8 * 1024 ** 2, documentValues: 5_000_000 };
  const flat = named('a', `[${'0,'.repeat(100_000)}0]`);
  const short = newParseUpload({ timeoutMs: 20, documents });
  const [late, next] = await Promise.all([short(flat), short(named('b'))]);
  expect(late.faults).toMatchObject([{ name: 'TooLarge', message: expect.stringContaining('longer than 0.02 s') }]);
  expect(next.documents).toHaveLength(1);
  const small = newParseUpload({ memoryMb: 40, documents });
  expect((await small(flat)).faults).toMatchObject([
    { name: 'TooLarge', message: expect.stringContaining('more than 40 MiB') },
  ]);
  expect((await small(named('b'))).documents).toHaveLength(1);
});

test('too many at once are sent away, and later ones are read', async () => {
  const parse = newParseUpload({ atOnce: 0, waiting: 1 });
  const first = parse(named('a'));
  await expect(parse(named('b'))).rejects.toMatchObject({ code: 'unavailable', retryable: true });
  expect((await first).documents).toHaveLength(1);
  expect((await parse(named('b'))).documents).toHaveLength(1);
});
