import { expect, test } from 'vitest';
import { faultText, goodNode, readText, yamlOf } from '#conductor/sites/documents/testing/read-text.ts';

const plugin = (name: string, data: string) => yamlOf('baton/Plugin/v1', name, data);
const uploaded = [
  { name: 'monitoring', version: '1.0' },
  { name: 'monitoring', version: '1.1' },
];

test('the site’s plugins, in the order of the documents', () => {
  const text =
    goodNode() + plugin('m', "name: monitoring\nversion: '1.1'") + plugin('l', "name: logging\nversion: '2'");
  expect(readText(text).site?.plugins).toEqual([
    { name: 'monitoring', version: '1.1' },
    { name: 'logging', version: '2' },
  ]);
});

test('each fault with its message', () => {
  const texts = [
    plugin('a', 'name: monitoring\nversion: 1.1'),
    plugin('a', 'name: monitoring'),
    plugin('a', "name: monitoring\nversion: '1.2'"),
    plugin('a', "name: monitorin\nversion: '1.0'"),
    plugin('a', "name: monitoring\nversion: '1.0'") + plugin('b', "name: monitoring\nversion: '1.1'"),
  ];
  expect(
    texts.flatMap((text) => readText(goodNode() + text, { plugins: uploaded }).faults.map(faultText)),
  ).toMatchInlineSnapshot(`
    [
      "Error InvalidValue Plugin a data.version: version must be text: put it into quotes (given: 1.1)",
      "Error InvalidValue Plugin a data.version: version is missing; it must be text",
      "Error UnknownPlugin Plugin a data.version: version 1.2 of plugin monitoring was not uploaded; did you mean 1.0?; there are 1.0, 1.1",
      "Error UnknownPlugin Plugin a data.name: name monitorin is not a plugin that was uploaded; did you mean monitoring?; there is monitoring",
      "Error DuplicatePlugin Plugin b data.name: name monitoring is named by a already (version 1.0); a plugin runs in one version",
    ]
  `);
});
