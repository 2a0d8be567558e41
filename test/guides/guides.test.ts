import { describe, expect, test } from 'vitest';
import { guideStages } from '#test/guides/guide-stages.ts';
import { type GuideBlock, readBlocks, readGuides, scriptsOf } from '#test/guides/read-guides.ts';

/** Each command of a guide is run by `test/system/guides.test.ts`, or a marker above it says why not. */

const blocks = readGuides();
const place = ({ page, line }: GuideBlock) => `${page}:${line}`;
/** Words that a reader would copy into a shell. */
const command =
  /^(?:sudo |[A-Z_]+=\S+ )*(?:baton|baremetal|npm|npx|curl|git|apt|systemctl|kubectl|helm|docker|openssl|ansible\S*|terraform|python3) /;

test('fenced blocks are found, in the README and in the guides', () => {
  const pages = new Set(blocks.map(({ page }) => page));
  expect([...pages]).toEqual(expect.arrayContaining(['README.md', 'docs/install.md', 'docs/first-rack.md']));
  expect(blocks.filter(({ language }) => language === 'sh').length).toBeGreaterThan(20);
});

test('each fence has the word of its language', () => {
  expect(blocks.filter(({ language }) => language === '').map(place)).toEqual([]);
});

test('commands stand in no other fence than those of sh', () => {
  const others = blocks.filter(({ language, lines }) => language !== 'sh' && lines.some((line) => command.test(line)));
  expect(others.map(place)).toEqual([]);
});

test('each block of commands is run, or marked with a reason', () => {
  const staged = new Set(Object.keys(guideStages));
  expect(
    scriptsOf(blocks)
      .map(({ name }) => name)
      .filter((name) => !staged.has(name)),
  ).toEqual([]);
  const markers = blocks.flatMap((block) => (block.notRun === undefined ? [] : [block]));
  expect(markers.filter(({ notRun = '' }) => notRun.split(' ').length < 4).map(place)).toEqual([]);
  // a marker at what nobody would run hides a mistake
  expect(markers.filter(({ language }) => language !== 'sh').map(place)).toEqual([]);
});

test('each stage is of commands that are there', () => {
  const names = scriptsOf(blocks).map(({ name }) => name);
  expect(Object.keys(guideStages).filter((name) => !names.includes(name))).toEqual([]);
});

describe('a page', () => {
  const page = ['## One', '```yaml', '# a.yaml', 'x: 1', '```', '```sh', 'baton status', '```', '## Two'];

  test('is read with the lines and files of its sections', () => {
    const more = ['<!-- not run: it needs a whole rack -->', '```sh', 'baton rack', '```', ''];
    const read = readBlocks('p.md', [...page, ...more].join('\n'));
    expect(read.map(({ heading, line, notRun }) => [heading, line, notRun])).toEqual([
      ['One', 3, undefined],
      ['One', 7, undefined],
      ['Two', 12, 'it needs a whole rack'],
    ]);
    expect(scriptsOf(read)).toEqual([
      { name: 'p.md: One', text: '\n\n\n\n\n\nbaton status', files: new Map([['a.yaml', 'x: 1\n']]) },
    ]);
  });

  test('whose fence is never closed is refused', () => {
    expect(() => readBlocks('p.md', '```sh\nbaton status\n')).toThrow('p.md:1: the fence is not closed');
  });
});
