import { expect, test } from 'vitest';
import { parseDocuments } from '#conductor/sites/documents/yaml/parse-documents.ts';

const messages = (text: string) => parseDocuments(text).faults.map(({ name, message }) => `${name} ${message}`);
const profile = (metadata: string, oob = '') =>
  `schema: drydock/HostProfile/v1\nmetadata:\n  name: a\n  ${metadata}\ndata:\n  oob:\n    type: redfish\n    ${oob}\n`;

test('what Deckhand renders is taken; what Baton works from is not encrypted', () => {
  const metadata = [
    'substitutions: [{dest: {path: .oob.credential}}]',
    'layeringDefinition: {abstract: true, layer: global}',
    'layeringDefinition: {layer: site, parentSelector: {name: x}, actions: [{method: merge, path: .}]}',
    'replacement: true',
    'storagePolicy: cleartext',
  ];
  expect(metadata.flatMap((each) => messages(profile(each)))).toEqual([]);
  expect(messages(profile('storagePolicy: encrypted'))).toMatchInlineSnapshot(`
    [
      "NotSupported document 1, line 4, column 18: metadata.storagePolicy is encrypted, but what documents of this schema say is shown: keep the secret in a document of another schema (deckhand/Passphrase/v1), and substitute it from there",
    ]
  `);
});

test('a document and its replacement have one name, in two layers', () => {
  const of = (layer: string) =>
    `schema: drydock/HostProfile/v1\nmetadata: {name: a, layeringDefinition: {layer: ${layer}}}\n`;
  expect(messages(`${of('global')}---\n${of('site')}`)).toEqual([]);
  expect(messages(`${of('site')}---\n${of('site')}`)).toHaveLength(1);
});

test('a password is refused before it is stored, and not repeated', () => {
  const oob = ['account: root', 'password: S3cret!', 'credential: S3cret!', 'credential: 12345'];
  const faultTexts = oob.flatMap((each) => messages(profile('labels: {}', each)));
  expect(faultTexts).toMatchInlineSnapshot(`
    [
      "LiteralCredential document 1, line 8, column 15: data.oob.password is not taken: store user and password once by \`baton credential set NAME\`, and write \`credential: NAME\`; or write \`account\` beside the password, as Drydock has it",
      "LiteralCredential document 1, line 8, column 17: data.oob.credential is not a name of a credential: store user and password once by \`baton credential set NAME\`, and write \`credential: NAME\`; or write \`account\` beside the password, as Drydock has it",
      "LiteralCredential document 1, line 8, column 17: data.oob.credential is not a name of a credential: store user and password once by \`baton credential set NAME\`, and write \`credential: NAME\`; or write \`account\` beside the password, as Drydock has it",
    ]
  `);
  expect(faultTexts.join()).not.toMatch(/S3cret|12345/);
});

test('documents that Baton does not use may be layered, and encrypted with whatever they have', () => {
  const chart = (metadata: string) => `schema: armada/Chart/v1\nmetadata: {name: a, ${metadata}}\n`;
  expect(messages(chart('substitutions: [1], layeringDefinition: {abstract: true}'))).toEqual([]);
  expect(messages(`${chart('storagePolicy: encrypted')}data: {password: hush}\n`)).toEqual([]);
});

test('secrets and logins in URLs are refused wherever they stand, and not repeated', () => {
  const document = (schema: string, data: object) => JSON.stringify({ schema, metadata: { name: 'a' }, data });
  const faultTexts = [
    document('drydock/HostProfile/v1', {
      oob: { type: 'redfish', address: 'https://root:hush@192.0.2.1', credential: 'bmc' },
      platform: { image: 'http://me:hush@images/x', checksum: 'https://me:hush@images/sums' },
      bios_settings: { SetupPassword: 'hush', AdminPassword: '!', BootMode: 'Uefi' },
      config_drive: { meta_data: { join: { token: 'hush' } }, user_data: 'http://me:hush@x/' },
    }),
    document('promenade/EtcdClusters/v1', {
      clusters: [
        { name: 'k', endpoints: ['https://root:hush@192.0.2.1:2379'], credential: 'etcd' },
        { name: 'l', endpoints: ['https://192.0.2.1:2379'], credential: 'hush !' },
      ],
    }),
    document('armada/Chart/v1', { values: { password: 'hush' } }),
  ].flatMap(messages);
  expect(faultTexts.map((message) => /^PlainSecret [^:]*: (\S+ (has|is))/.exec(message)?.[1])).toEqual([
    'data.oob.address has',
    'data.platform.image has',
    'data.platform.checksum has',
    'data.bios_settings.SetupPassword is',
    'data.config_drive.meta_data.join.token is',
    'data.clusters.0.endpoints.0 has',
    'data.clusters.1.credential is',
  ]);
  expect(faultTexts.join()).not.toContain('hush');
});

test('names move no cursor', () => {
  const document = (name: string) => JSON.stringify({ schema: 's', metadata: { name } });
  expect(messages(document('a\u001b[2J'))[0]).toContain('metadata.name must have no control characters');
});
