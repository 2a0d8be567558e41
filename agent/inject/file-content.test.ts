import { expect, test } from 'vitest';
import { serveImage } from '#agent/image/testing/image-server.ts';
import { fileContent, fillTemplate } from '#agent/inject/file-content.ts';

const options = { verify: true, signal: new AbortController().signal };
const content = (text: string, values = {}) => fileContent({ path: '/etc/x', content: text }, values, options);

test('base64, in lines or not, empty too', async () => {
  expect((await content('aGVs\nbG8=')).toString()).toBe('hello');
  expect((await content('')).length).toBe(0);
});

test('what is neither base64 nor a URL', async () => {
  await expect(content('hello world!')).rejects.toThrow('content of /etc/x is neither base64 nor a URL');
  await expect(content('file:///etc/shadow')).rejects.toThrow('neither an http(s) URL nor base64');
});

test('a URL, filled in', async () => {
  await using server = await serveImage(Buffer.from('from the server'));
  const answer = await content(`${server.url}?node={node[uuid]}`, { node: { uuid: 'u' } });
  expect(answer.toString()).toBe('from the server');
});

const values = { node: { uuid: 'u1', properties: { cpus: 4 } }, ports: [{ address: 'aa:bb' }] };

test.each([
  ['http://h/{node[uuid]}/x', 'http://h/u1/x'],
  ['{node[properties][cpus]}-{ports[0][address]}', '4-aa:bb'],
  ['{{literal}}', '{literal}'],
  ['plain', 'plain'],
])('%s', (template, expected) => {
  expect(fillTemplate(template, values)).toBe(expected);
});

test.each(['{node[name]}', '{node}', '{ports[1][address]}', '{other[x]}', '{node.uuid}', '{}', '{node[constructor]}'])(
  '%s stands for nothing',
  (template) => {
    expect(() => fillTemplate(template, values)).toThrow(`${template} stands for no text`);
  },
);
