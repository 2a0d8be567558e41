import { expect, test } from 'vitest';
import { unusedDocuments } from '#conductor/sites/documents/unused-documents.ts';
import { type SiteDocument, siteDocument } from '#conductor/sites/site-document.ts';

const document = (schema: string, name: string, metadata: object = {}, data: unknown = 'x'): SiteDocument =>
  siteDocument('site', { schema, metadata: { name, ...metadata }, data });
const faultsOf = (...documents: readonly SiteDocument[]): string[] => {
  const bySchema = Map.groupBy(documents, ({ schema }) => schema);
  const byName = [...bySchema].map(
    ([schema, list]) => [schema, new Map(list.map((each) => [each.name, each]))] as const,
  );
  return unusedDocuments(new Map(byName)).map(({ name, document: of }) => `${name} ${of?.name}`);
};
const passphrase = 'deckhand/Passphrase/v1';

test('what nobody takes a value from is not used, and a secret in clear is a warning', () => {
  expect(faultsOf(document(passphrase, 'bmc'), document('armada/Chart/v1', 'chart'))).toEqual([
    'NotUsed bmc',
    'PlainSecret bmc',
    'NotUsed chart',
  ]);
});

test('an encrypted document has no secret in clear, and a source of another is used', () => {
  const substitutions = [{ src: { schema: passphrase, name: 'bmc', path: '.' }, dest: { path: '.a' } }];
  const node = document('drydock/BaremetalNode/v1', 'n1', { substitutions });
  const encrypted = { storagePolicy: 'encrypted' };
  expect(faultsOf(document(passphrase, 'bmc', encrypted), node)).toEqual([]);
  expect(faultsOf(document(passphrase, 'bmc'), node)).toEqual(['PlainSecret bmc']);
  expect(faultsOf(document(passphrase, 'bmc', encrypted), document(passphrase, 'other', encrypted), node)).toEqual([
    'NotUsed other',
  ]);
});

test('what rendering works by is used', () => {
  expect(faultsOf(document('deckhand/LayeringPolicy/v1', 'policy', {}, { layerOrder: ['site'] }))).toEqual([]);
});
