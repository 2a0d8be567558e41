import { findSecrets } from '#conductor/model/find-secrets.ts';
import type { SiteFault } from '#conductor/model/site-fault.ts';
import { dataSchema } from '#conductor/sites/documents/data-schemas.ts';
import { namesThereAre } from '#conductor/sites/documents/schema-faults.ts';
import { usedSchemas } from '#conductor/sites/documents/upload-faults.ts';
import { documentOf, isMapping, type SiteDocument } from '#conductor/sites/site-document.ts';

/** What belongs to an Airship site and is other programs' business. */
const othersSchemas =
  /^(armada|deckhand|pegleg|promenade|divingbell|nc|metadata)\/\w+\/v\d+(\.\d+)?$|^drydock\/(Rack|Region|BootAction)\/v1$|^shipyard\/DeploymentVersion\/v1$/;

/** Deckhand's whose `data` is a secret, whatever it is called. */
const secretSchemas = /^deckhand\/(Passphrase|PrivateKey|CertificateKey|CertificateAuthorityKey)\/v1$/;

/** A Warning for each schema with a document that has a secret in clear: others' documents are kept as they are. */
function plainSecrets(schema: string, documents: readonly SiteDocument[]): SiteFault[] {
  const found = documents.find(
    ({ data }) => secretSchemas.test(schema) || (isMapping(data) && findSecrets(data, { most: 1 }).length > 0),
  );
  if (!found) return [];
  const message = 'has a secret in clear, which everyone who may read the site sees; Baton does not need this document';
  return [{ level: 'Warning', name: 'PlainSecret', message, document: documentOf(found) }];
}

/** One fault for each schema that Baton does nothing with: Info for Airship's own, a Warning for what nobody knows. */
export function unusedDocuments(bySchema: ReadonlyMap<string, ReadonlyMap<string, SiteDocument>>): SiteFault[] {
  return [...bySchema].flatMap(([schema, byName]): SiteFault[] => {
    if (usedSchemas.has(schema) || schema === dataSchema) return [];
    const documents = [...byName.values()];
    const [first] = documents;
    if (!first) return [];
    const document = documentOf(first);
    const count = documents.length === 1 ? 'a document' : `${documents.length} documents`;
    if (othersSchemas.test(schema)) {
      const message = `${count} of schema ${schema}: kept under revision, and not used by Baton`;
      return [{ level: 'Info', name: 'NotUsed', message, document }, ...plainSecrets(schema, documents)];
    }
    const message = `${count} of schema ${schema}, which Baton does not know${namesThereAre(schema, [...usedSchemas])}`;
    return [
      { level: 'Warning', name: 'UnknownSchema', message, document, path: 'schema' },
      ...plainSecrets(schema, documents),
    ];
  });
}
