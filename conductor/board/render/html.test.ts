import { expect, test } from 'vitest';
import { foreign, foreignCell, html, joined, nothing } from '#conductor/board/render/html.ts';

const evil = `<script>alert("1")</script>'&`;
const escaped = '&#60;script&#62;alert(&#34;1&#34;)&#60;/script&#62;&#39;&#38;';

test('text is escaped, in elements and in attributes; HTML stays HTML', () => {
  expect(String(html`<a title="${evil}">${evil}</a>`)).toBe(`<a title="${escaped}">${escaped}</a>`);
  expect(String(html`<p>${html`<b>${evil}</b>`}</p>`)).toBe(`<p><b>${escaped}</b></p>`);
});

test('lists are joined, numbers are written, and nothing is nothing', () => {
  expect(String(html`${[html`<i>1</i>`, '<', 2]}${null}${undefined}${false}${0}`)).toBe('<i>1</i>&#60;20');
  expect(String(joined(['a', html`<b>b</b>`, 'c'], ' · '))).toBe('a · <b>b</b> · c');
  expect([String(nothing), String(foreign('')), String(foreign('x'))]).toEqual(['', '', '<bdi>x</bdi>']);
});

test('a text inside a tag and outside quotation marks is refused; HTML may stand there', () => {
  expect(() => html`<a href=${'x onclick=1'}>`).toThrow('needs quotation marks');
  expect(() => html`<a title="a > b" ${'x'}>`).toThrow('needs quotation marks');
  expect(String(html`<a title="a > b"${html` hidden`}>${'x'}</a>${false}`)).toBe('<a title="a > b" hidden>x</a>');
  expect(String(html`<a${false}>`)).toBe('<a>');
});

test('an object that only looks like HTML is none', () => {
  const forged = { toString: () => evil } as never;
  expect(() => html`<p>${forged}</p>`).toThrow('map is not a function');
});

test('a cell of plain letters has no element of its own, any other is isolated', () => {
  expect([String(foreignCell('r1-n1 <b>')), String(foreignCell(null))]).toEqual(['r1-n1 &#60;b&#62;', '']);
  for (const text of ['שרת', 'a\u202eb', 'tab\t', 'é']) expect(String(foreignCell(text))).toBe(`<bdi>${text}</bdi>`);
});
