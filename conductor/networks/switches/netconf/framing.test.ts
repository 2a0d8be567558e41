import { describe, expect, test } from 'vitest';
import { createUnframer, frame } from '#conductor/networks/switches/netconf/framing.ts';
import { allText, elementsAt, escapeXml, parseXml, textAt } from '#conductor/networks/switches/netconf/xml.ts';
import * as fc from '#test/fuzz/fast-check.ts';

const cut = (text: string, sizes: readonly number[]): Buffer[] => {
  const bytes = Buffer.from(text);
  const pieces: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
};

describe('messages on a stream', () => {
  const message = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => !text.includes(']]>'));
  test.each([false, true])('come out as they went in, however they are cut (chunks: %s)', (isChunked) => {
    fc.assert(
      fc.property(fc.array(message), fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1 }), (messages, sizes) => {
        const unframer = createUnframer(1_000_000);
        if (isChunked) unframer.useChunks();
        const stream = messages.map((each) => frame(each, isChunked)).join('');
        expect(cut(stream, sizes).flatMap((piece) => unframer.push(piece))).toEqual(messages);
      }),
    );
  });

  test('a message of several chunks is one', () => {
    const unframer = createUnframer(1000);
    unframer.useChunks();
    expect(unframer.push(Buffer.from('\n#2\nab\n#3\ncde\n##\n'))).toEqual(['abcde']);
  });

  test.each(['ab', '\n#x\n', '\n##x', '\n#0\nab', '\n#99999999999\n'])('%j is not a chunk', (text) => {
    const unframer = createUnframer(100);
    unframer.useChunks();
    expect(() => unframer.push(Buffer.from(text))).toThrow('wrong chunks');
  });

  test.each([false, true])('a message without end is not kept (chunks: %s)', (isChunked) => {
    const unframer = createUnframer(1000);
    if (isChunked) unframer.useChunks();
    const endless = () => {
      unframer.push(Buffer.from(isChunked ? '\n#4000000000\n' : ''));
      for (let piece = 0; piece < 100; piece += 1) unframer.push(Buffer.alloc(100, 0x61));
    };
    expect(endless).toThrow('has more than 1000 bytes');
  });

  test('a message of a flood of tiny chunks is not kept', () => {
    const unframer = createUnframer(1_000_000);
    unframer.useChunks();
    const piece = Buffer.from('\n#1\na'.repeat(1000));
    let pushed = 0;
    const flood = () => {
      for (; pushed < 100; pushed += 1) unframer.push(piece);
    };
    expect(flood).toThrow('has more than 1000000 bytes');
    expect(pushed).toBeLessThan(10);
  });
});

describe('XML', () => {
  test('is read without namespaces, entities in text resolved', () => {
    const read = parseXml('<nc:a xmlns:nc="urn:x"><b c="d">1 &lt; 2</b><b/><e><![CDATA[<f>]]></e></nc:a>');
    expect(read.name).toBe('a');
    expect(elementsAt(read, 'b').map(({ text }) => text)).toEqual(['1 < 2', '']);
    expect(textAt(read, 'e')).toBe('<f>');
    expect(textAt(read, 'e', 'none')).toBeUndefined();
    expect(allText(read)).toBe('1 < 2\n<f>');
  });

  test('escaped text comes back as it was', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[!-~]+$/), (text) => {
        expect(parseXml(`<a>${escapeXml(text)}</a>`).text).toBe(text);
      }),
    );
  });

  test.each([
    ['', 'not XML'],
    ['<a>', 'not XML'],
    ['<a></b>', 'not XML'],
    ['hello', 'not XML'],
    ['<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', 'document type'],
    ['<a>&unknown;</a>', 'not XML'],
    ['<a>'.repeat(1000), 'deeper than 64'],
  ])('%j is refused', (text, why) => {
    expect(() => parseXml(text)).toThrow(why);
  });

  test('of too many elements is refused', () => {
    expect(() => parseXml(`<a>${'<b/>'.repeat(400_000)}</a>`)).toThrow('more than 400000 elements');
  });
});
