import { expect, test } from 'vitest';
import { unusedDocuments } from '#conductor/sites/documents/unused-documents.ts';
import { type SiteDocument, siteDocument } from '#conductor/sites/site.ts';

const document = (schema: string, name: string, metadata: object = {}, data: unknown = 'x'): SiteDocument =>
  siteDocument('site', { schema, metadata: { name, ...metadata }, data });
const faultsOf = (...documents: readonly SiteDocument[]): string[] => {
  const bySchema = Map.groupBy(documents, ({ schema }) => schema);
  const byName = [...bySchema].map(
    ([schema, list]) => [schema, new Map(list.map((each) => [each.name, each]))] as const,
  );
  return unusedDocuments(new Map(byName), documents).map(({ name, document: of }) => `${name} ${of?.name}`);
};
const passphrase = 'deckhand/Passphrase/v1';

test('what nobody takes a value from is not used, and a secret in clear is a warning', () => {
  const chart = document('armada/Chart/v1', 'chart', {}, { values: { password: 'hush' } });
  expect(faultsOf(document(passphrase, 'bmc'), chart)).toEqual(['NotUsed bmc', 'NotUsed chart', 'PlainSecret chart']);
});

test('what only an abstract document takes a value from is used', () => {
  const source = document(passphrase, 'bmc');
  const substitutions = [{ src: { schema: passphrase, name: 'bmc', path: '.' }, dest: { path: '.oob.credential' } }];
  const profile = document('drydock/HostProfile/v1', 'p', { layeringDefinition: { abstract: true }, substitutions });
  // rendering leaves it out
  const rendered = new Map([[passphrase, new Map([[source.name, source]])]]);
  expect(unusedDocuments(rendered, [source, profile])).toEqual([]);
});

test('a source of another document is used', () => {
  const substitutions = [{ src: { schema: passphrase, name: 'bmc', path: '.' }, dest: { path: '.a' } }];
  const node = document('drydock/BaremetalNode/v1', 'n1', { substitutions });
  const encrypted = { storagePolicy: 'encrypted' };
  expect(faultsOf(document(passphrase, 'bmc', encrypted), node)).toEqual([]);
  expect(faultsOf(document(passphrase, 'bmc', encrypted), document(passphrase, 'other', encrypted), node)).toEqual([
    'NotUsed other',
  ]);
});

test('what rendering works by is used', () => {
  expect(faultsOf(document('deckhand/LayeringPolicy/v1', 'policy', {}, { layerOrder: ['site'] }))).toEqual([]);
});
