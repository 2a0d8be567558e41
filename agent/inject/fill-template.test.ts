import { expect, test } from 'vitest';
import { fillTemplate } from '#agent/inject/fill-template.ts';

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
